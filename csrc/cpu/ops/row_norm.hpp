#pragma once

#include "core/ops/map_rows.hpp"

namespace tilewright::cpu {

/// Whether a request is a norm of dense rows of float32 off their mean, as that of groups, which is
/// then computed.
bool takes_row_norm(const RowsRequest& r);

}  // namespace tilewright::cpu
