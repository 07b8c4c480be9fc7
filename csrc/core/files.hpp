#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tilewright {

/// A file or folder in a folder.
std::string joined(std::string folder, std::string_view name);

/// What keeps a file that is there from being read: "is a folder", to go behind its path.
struct UnreadableFile : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What keeps this path from being opened as a file, so that no open() waits for a pipe's other
/// end: "is a named pipe". Empty for a file, and where there is nothing.
std::string no_file(const std::string& path);

/// Whether there is anything at this path that can be looked at.
bool exists(const std::string& path);

/// All of a file; nothing where there is none. Throws UnreadableFile for what is no file, for one
/// of more bytes than these, and for one that the system does not let be read.
std::optional<std::string> read_file(const std::string& path, std::size_t most_bytes);

/// The folder and those that it is in; whether it is there.
bool make_folders(const std::string& path);

/// The file as a whole, so that nobody sees a part of it; whether that was done.
bool replace_file(const std::string& path, std::string_view content);

}  // namespace tilewright
