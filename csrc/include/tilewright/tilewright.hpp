#pragma once

#include "tilewright/backend.hpp"
#include "tilewright/device.hpp"
#include "tilewright/error.hpp"
#include "tilewright/kernel.hpp"
#include "tilewright/log.hpp"
#include "tilewright/profile.hpp"
#include "tilewright/registry.hpp"
#include "tilewright/types.hpp"
#include "tilewright/version.hpp"
