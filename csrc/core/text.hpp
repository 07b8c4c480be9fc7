#pragma once

#include <locale>
#include <sstream>
#include <string>

namespace tilewright {

/// The parts one after another, as operator<< writes them in C's locale, whatever the program's is:
/// kernels are written with it.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  (out << ... << parts);
  return out.str();
}

}  // namespace tilewright
