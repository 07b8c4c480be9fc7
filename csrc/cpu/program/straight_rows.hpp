#pragma once

#include "core/requests.hpp"
#include "cpu/program/steps.hpp"

namespace tilewright::cpu {

/// A program of one op whose operands' rows lie in memory as its loop reads them, element by
/// element or one for a whole row: with nothing in between, but for operands as transposed matrices
/// have them, whose rows are gathered block by block. Whether it was one.
bool map_straight_rows(const MapRequest& request, const ProgramSteps& steps, bool streaming);

}  // namespace tilewright::cpu
