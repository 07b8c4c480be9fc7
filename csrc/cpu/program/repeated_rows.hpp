#pragma once

#include <vector>

#include "core/requests.hpp"
#include "cpu/memory.hpp"
#include "cpu/program/steps.hpp"

namespace tilewright::cpu {

/// One op whose rows are short, of operands that lie densely and of some that are the same for all
/// of the first dimensions, as a number for each channel of images is: as one or two requests whose
/// rows are long, with what repeats written out. None where it is another one.
std::vector<MapRequest> unfold_repeated_rows(const MapRequest& request, const ProgramSteps& steps,
                                             MemoryPool& pool);

}  // namespace tilewright::cpu
