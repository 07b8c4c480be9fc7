#pragma once

#include <sstream>
#include <string>

namespace tilewright {

/// The parts one after another, as operator<< writes them.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

}  // namespace tilewright
