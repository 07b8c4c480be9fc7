#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tilewright/export.hpp"

namespace tilewright {

/// A line of a file of choices, as words.
struct ChoiceEntry {
  std::string point, sizes, flags, candidate;
};

/// The file that keeps what was measured to be quickest on one device.
///
/// Text: a line with the format's name and version, one for each name and value of the identity,
/// then one for each entry: "gemm 1024x1024x1024x1 float16 128x128". From # on a line is a comment.
class ChoiceFile {
 public:
  using Identity = std::vector<std::pair<std::string, std::string>>;

  /// The results hold for this identity only: names and values of one line each, of which the first
  /// two, the device and its driver, name the file.
  explicit ChoiceFile(Identity identity);

  const Identity& identity() const { return identity_; }
  /// In the cache folder of the user; empty where there is none.
  const std::string& path() const { return path_; }
  /// The lines above the entries.
  TILEWRIGHT_API std::string head() const;

  /// Nothing where there is no file. One that is damaged or of another identity is left out with a
  /// warning in the log.
  std::optional<std::vector<ChoiceEntry>> read() const;
  void warn(const std::string& why) const;

 private:
  Identity identity_;
  std::string path_;
};

/// TILEWRIGHT_CACHE_DIR, or "tilewright" in the system's folder for caches; empty where there is
/// none.
std::string cache_folder();

}  // namespace tilewright
