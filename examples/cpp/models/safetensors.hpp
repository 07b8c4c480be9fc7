#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json.hpp"
#include "tilewright/tilewright.hpp"

namespace tw = tilewright;

/// A tensor of a file: where its bytes are, row by row.
struct StoredTensor {
  std::string file;
  tw::DType dtype;
  std::vector<tw::Size> shape;
  std::uint64_t first = 0, bytes = 0;
};

/// The tensors of a folder's model.safetensors, or of several files model-1-of-2.safetensors. Such
/// a file is the length of a header in 8 bytes, the header in JSON, and the bytes of the tensors.
class Safetensors {
 public:
  explicit Safetensors(const std::filesystem::path& folder) : folder_(folder.string()) {
    if (!std::filesystem::is_directory(folder)) throw std::runtime_error(folder_ + ": no folder");
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("model") && name.ends_with(".safetensors")) open(entry.path());
    }
    if (tensors_.empty()) throw std::runtime_error(folder_ + ": it has no model.safetensors");
  }

  bool has(const std::string& name) const { return tensors_.contains(name); }

  /// float32 where any tensor is, else float16.
  tw::DType float_type() const {
    const auto is_wide = [](const auto& one) { return one.second.dtype == tw::DType::float32; };
    return std::ranges::any_of(tensors_, is_wide) ? tw::DType::float32 : tw::DType::float16;
  }

  /// The tensor of a name, which must have this shape.
  const StoredTensor& find(const std::string& name, const std::vector<tw::Size>& shape) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) throw std::runtime_error(folder_ + ": there is no tensor " + name);
    if (found->second.shape != shape) {
      throw std::runtime_error(found->second.file + ": " + name + " has the shape " +
                               shown(found->second.shape) + ", and by config.json it is " +
                               shown(shape));
    }
    return found->second;
  }

  static std::vector<std::byte> read(const StoredTensor& tensor) {
    std::vector<std::byte> bytes(tensor.bytes);
    std::ifstream file(tensor.file, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(tensor.first));
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!file) throw std::runtime_error(tensor.file + ": it cannot be read");
    return bytes;
  }

 private:
  void open(const std::filesystem::path& path) {
    const std::string file_name = path.string();
    const std::uint64_t size = std::filesystem::file_size(path);
    std::ifstream file(path, std::ios::binary);
    unsigned char count[8] = {};
    file.read(reinterpret_cast<char*>(count), 8);
    std::uint64_t length = 0;
    for (int i = 7; i >= 0; --i) length = length << 8 | count[i];
    if (!file || length > size - 8) {
      throw std::runtime_error(file_name + ": its header is cut short");
    }
    std::string header(length, '\0');
    file.read(header.data(), static_cast<std::streamsize>(length));
    const Json json = JsonParser(header, file_name).parse();
    const auto* tensors = json.as<Json::Object>();
    if (tensors == nullptr) throw std::runtime_error(file_name + ": its header is no object");
    for (const auto& [name, described] : *tensors) {
      if (!name.ends_with(".weight")) continue;  // what else there is a Llama does without
      std::optional<StoredTensor> tensor = describe(described, size - 8 - length);
      if (!tensor) {
        throw std::runtime_error(file_name + ": " + name +
                                 " is not of F32, F16 or BF16, or the file has not the bytes of "
                                 "its shape");
      }
      tensor->file = file_name;
      tensor->first += 8 + length;
      tensors_.insert_or_assign(name, std::move(*tensor));
    }
  }

  /// None where what the header says does not fit together.
  static std::optional<StoredTensor> describe(const Json& described, std::uint64_t most) {
    static const std::map<std::string, tw::DType> dtypes{
        {"F32", tw::DType::float32}, {"F16", tw::DType::float16}, {"BF16", tw::DType::bfloat16}};
    const Json *dtype = described.find("dtype"), *shape = described.find("shape");
    const Json* offsets = described.find("data_offsets");
    if (dtype == nullptr || shape == nullptr || offsets == nullptr) return std::nullopt;
    const auto* name = dtype->as<std::string>();
    if (name == nullptr || !dtypes.contains(*name)) return std::nullopt;
    const auto sizes = integers(*shape), ends = integers(*offsets);
    if (!sizes || !ends || ends->size() != 2) return std::nullopt;
    StoredTensor found{{}, dtypes.at(*name), *sizes};
    std::uint64_t bytes = tw::size_of(found.dtype);
    for (const tw::Size one : *sizes) {
      const auto count = static_cast<std::uint64_t>(one);
      if (count != 0 && bytes > most / count) return std::nullopt;
      bytes *= count;
    }
    found.first = static_cast<std::uint64_t>((*ends)[0]);
    found.bytes = static_cast<std::uint64_t>((*ends)[1]) - found.first;
    if (found.first > most || bytes > most - found.first || found.bytes != bytes) {
      return std::nullopt;
    }
    return found;
  }

  /// A list of integers from 0 on.
  static std::optional<std::vector<tw::Size>> integers(const Json& json) {
    const auto* list = json.as<Json::List>();
    if (list == nullptr) return std::nullopt;
    std::vector<tw::Size> found;
    for (const Json& one : *list) {
      const double* number = one.as<double>();
      if (number == nullptr || !(*number >= 0 && *number < 0x1p53)) return std::nullopt;
      found.push_back(static_cast<tw::Size>(*number));
    }
    return found;
  }

  static std::string shown(const std::vector<tw::Size>& shape) {
    std::string text;
    for (const tw::Size one : shape) text += (text.empty() ? "" : ", ") + std::to_string(one);
    return "[" + text + "]";
  }

  std::string folder_;
  std::map<std::string, StoredTensor> tensors_;
};
