#pragma once

#include <string>
#include <string_view>

namespace tilewright::level_zero {

/// 128 bits that tell a text from others, as hexadecimal digits.
std::string fingerprint(std::string_view text);

/// What a driver compiled, kept in the user's folder for caches for the processes to come. A file
/// holds one binary under its whole key, with a checksum, and is replaced as a whole. There is a
/// fixed number of files; binaries that meet in one replace each other.
class NativeBinaries {
 public:
  /// `maker`: the device and its driver, with their versions, on one line.
  explicit NativeBinaries(std::string maker);

  /// Empty where none is kept that is whole and of this key.
  std::string read(std::string_view key) const;
  /// Does nothing where it cannot be kept.
  void write(std::string_view key, std::string_view binary) const noexcept;

 private:
  std::string head_of(std::string_view key) const;
  std::string path_of(std::string_view head) const;

  const std::string maker_;
  const std::string folder_;  // empty: nothing is kept
};

}  // namespace tilewright::level_zero
