#pragma once

#include "tilewright/backend.hpp"
#include "tilewright/device.hpp"
#include "tilewright/error.hpp"
#include "tilewright/log.hpp"
#include "tilewright/registry.hpp"
#include "tilewright/types.hpp"
#include "tilewright/version.hpp"
