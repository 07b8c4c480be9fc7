#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tilewright {

/// 128 bits that tell a text from others, as hexadecimal digits.
std::string fingerprint(std::string_view text);

/// What drivers and libraries compiled, kept in the user's folder for caches for the processes to
/// come. A file holds one content under its whole key, with a checksum, and is replaced as a whole.
/// Where there are as many files as there may be, those that were written first make room. Any
/// thread may call.
class KeptFiles {
 public:
  static constexpr std::size_t most_files = 2048;
  static constexpr std::size_t most_bytes = 1 << 20;  ///< of a content

  /// `folder`: in the folder for caches. `maker`: the device and its driver, with their versions,
  /// on one line.
  KeptFiles(std::string_view folder, std::string maker);

  /// Empty where none is kept that is whole and of this key. A file that is not whole is removed.
  std::string read(std::string_view key) const noexcept;
  /// Does nothing where it cannot be kept.
  void write(std::string_view key, std::string_view content) const noexcept;

 private:
  std::string head_of(std::string_view key) const;
  std::string path_of(std::string_view head) const;
  void make_room() const;

  const std::string name_;
  const std::string maker_;
  const std::string folder_;  // empty: nothing is kept
};

}  // namespace tilewright
