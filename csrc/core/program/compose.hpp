#pragma once

#include "core/program/program_data.hpp"
#include "tilewright/export.hpp"
#include "tilewright/program.hpp"

namespace tilewright {

/// What a program of one input, one output and no numbers makes of a value of another.
TILEWRIGHT_API Program::Value compose(Program& program, Program::Value value,
                                      const ProgramData& behind);

}  // namespace tilewright
