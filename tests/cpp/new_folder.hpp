#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace tilewright {

/// An empty folder of the test's own.
inline std::string new_folder() {
  char folder[] = "/tmp/tilewright-XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  return folder;
}

}  // namespace tilewright
