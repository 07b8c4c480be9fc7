#pragma once

#include <string>
#include <string_view>

namespace tilewright {

/// A file or folder in a folder.
std::string joined(std::string folder, std::string_view name);

/// All of a file; empty where it cannot be read.
std::string read_file(const std::string& path);

/// The folder and those that it is in; whether it is there.
bool make_folders(const std::string& path);

/// The file as a whole, so that nobody sees a part of it; whether that was done.
bool replace_file(const std::string& path, std::string_view content);

}  // namespace tilewright
