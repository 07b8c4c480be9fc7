// A Llama of a Hugging Face folder goes on with a text, by the likeliest token each time:
//
//   decoder FOLDER DEVICE COUNT TOKEN...
//
// Prints at most COUNT tokens, up to one that ends the text. Tokens are numbers: to make them of
// text and text of them is the business of a tokenizer, which tilewright leaves to others, and the
// tokenizer of the folder's tokenizer.json knows both. DEVICE is "auto" or a name such as
// "webgpu:0". Weights are float32, float16 or bfloat16, and computed in float16 where none is
// float32. Rope scaling is "linear" or "llama3"; biases and quantised weights are refused.

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "llama.hpp"

namespace {

/// A whole number from 0 to below `end`.
tw::Size number(std::string_view word, const char* what, tw::Size end) {
  tw::Size found = -1;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), found);
  if (read.ec != std::errc() || read.ptr != word.data() + word.size() || found < 0 ||
      found >= end) {
    throw std::runtime_error(std::string(what) + " is " + std::string(word) +
                             ", expected a number from 0 to " + std::to_string(end - 1));
  }
  return found;
}

void run(const std::filesystem::path& folder, const char* device, const char* count,
         const std::vector<std::string_view>& words) {
  const LlamaConfig config(folder);
  const Safetensors files(folder);
  std::vector<std::int32_t> prompt;
  for (const std::string_view word : words) {
    prompt.push_back(static_cast<std::int32_t>(number(word, "TOKEN", config.vocabulary)));
  }
  const auto read = static_cast<tw::Size>(prompt.size());
  const tw::Size room = config.longest - read;
  if (room < 0) throw std::runtime_error("the model takes fewer tokens than are given");
  const tw::Size most = number(count, "COUNT", room + 1);

  Llama model(tw::init_backend(device), config, files, read + most);
  model.read(prompt);
  for (tw::Size i = 0; i < most; ++i) {
    const std::int32_t token = model.next();
    if (config.ends.contains(token)) break;
    std::printf(i == 0 ? "%d" : " %d", static_cast<int>(token));
    std::fflush(stdout);
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: %s FOLDER DEVICE COUNT TOKEN...\n", argv[0]);
    return 2;
  }
  try {
    run(argv[1], argv[2], argv[3], {argv + 4, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
