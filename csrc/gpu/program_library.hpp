#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "gpu/device.hpp"
#include "gpu/text/program_form.hpp"

namespace tilewright::gpu {

/// Pipelines of programs by program and form, compiled at first use; the `capacity` that were used
/// last are kept. While one compiles, others can be used and compiled; who asks for the same waits
/// for it. Who uses a pipeline shares it: it may no longer be kept.
class ProgramLibrary {
 public:
  /// With a capacity of 0 each use compiles anew.
  ProgramLibrary(Device& device, std::size_t capacity) : device_(device), capacity_(capacity) {}

  std::shared_ptr<const Pipeline> get(const std::shared_ptr<const ProgramData>& program,
                                      const ProgramForm& form);

 private:
  /// What is looked for, where it lies.
  struct Key {
    const ProgramData* program;
    const ProgramForm* form;
    std::uint64_t hash;

    bool operator==(const Key& other) const {
      return hash == other.hash && *form == *other.form &&
             (program == other.program || *program == *other.program);
    }
  };
  struct Hash {
    std::size_t operator()(const Key& key) const { return static_cast<std::size_t>(key.hash); }
  };
  struct Kept {
    Kept(std::shared_ptr<const ProgramData> program, ProgramForm form, std::uint64_t hash)
        : program(std::move(program)), form(std::move(form)), hash(hash) {}
    Key key() const { return {program.get(), &form, hash}; }
    const std::shared_ptr<const ProgramData> program;
    const ProgramForm form;
    const std::uint64_t hash;
    std::mutex compiling;
    std::shared_ptr<const Pipeline> pipeline;  // set under both mutexes
  };
  using Order = std::list<std::shared_ptr<Kept>>;  // most recent first

  std::shared_ptr<const Pipeline> compile(const ProgramData& program, const ProgramForm& form);

  Device& device_;
  const std::size_t capacity_;
  std::mutex mutex_;
  Order order_;
  std::unordered_map<Key, Order::iterator, Hash> kept_;  // keys in Order's
};

}  // namespace tilewright::gpu
