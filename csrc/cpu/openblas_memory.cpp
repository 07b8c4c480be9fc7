#include "cpu/openblas_memory.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "core/thread_memory.hpp"
#include "tilewright/error.hpp"

#if defined(__GLIBC__) && defined(__LP64__)
#define TILEWRIGHT_SUPPLIES_OPENBLAS
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

/// A variable of this thread, as compilers call it.
extern "C" void* __tls_get_addr(std::size_t (*module_and_offset)[2]);
#endif

namespace tilewright::cpu {

namespace {

/// Blocks that no product uses now. No end of them where OpenBLAS sees to its memory itself.
std::atomic<int> free_blocks{std::numeric_limits<int>::max() / 2};

bool take() {
  int free = free_blocks.load(std::memory_order_relaxed);
  while (free > 0) {
    if (free_blocks.compare_exchange_weak(free, free - 1, std::memory_order_acquire)) return true;
  }
  return false;
}

#if defined(TILEWRIGHT_SUPPLIES_OPENBLAS)

constexpr std::size_t block_bytes = 32 << 20;
/// The library, its first block and some room.
constexpr std::size_t bytes_to_load = 96 << 20;
/// It has no place to note more.
constexpr std::size_t most_blocks = 512;
/// What the blocks after the first leave to others, such as the variables of 100 threads.
constexpr std::size_t bytes_left = 32 << 20;
/// Room that other threads may take meanwhile.
constexpr std::size_t spare_bytes = 256 << 10;

/// Its variables of one thread. The C library makes them at a thread's first product, and ends the
/// process where there is no memory for them.
struct ThreadVariables {
  std::size_t module = 0;  // none
  std::size_t bytes = 0;
};
ThreadVariables thread_variables;

TILEWRIGHT_MADE_WITH_THREAD thread_local bool thread_has_variables = false;

struct Supply {
  std::mutex mutex;
  std::size_t made = 0;
  std::vector<void*> fresh;  // that OpenBLAS has not asked for yet
};

// Never destroyed: threads may compute until the process ends.
Supply& supply() {
  static auto* const one = new Supply;
  return *one;
}

void* map(std::size_t bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

[[noreturn]] void throw_full(std::size_t bytes) {
  throw OutOfMemory(text("the system has no ", bytes,
                         " bytes for the working memory of a matrix product; free some"),
                    bytes);
}

/// What OpenBLAS calls for mmap().
void* give(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  if (bytes == block_bytes && file == -1) {
    std::lock_guard lock(supply().mutex);
    if (!supply().fresh.empty()) {
      void* const block = supply().fresh.back();
      supply().fresh.pop_back();
      return block;
    }
  }
  return mmap(address, bytes, protection, flags, file, offset);
}

/// Makes a block for the calling thread's product; false where it has to wait for one.
bool make_block() {
  std::lock_guard lock(supply().mutex);
  if (supply().made == most_blocks) return false;
  supply().fresh.reserve(most_blocks);
  const std::size_t left = supply().made == 0 ? 0 : bytes_left;
  if (void* const block = map(block_bytes + left)) {
    if (left != 0) munmap(static_cast<char*>(block) + block_bytes, left);
    supply().fresh.push_back(block);
    ++supply().made;
    return true;
  }
  if (supply().made == 0) throw_full(block_bytes);
  return false;
}

ThreadVariables variables_of(const link_map& library) {
  std::pair<const link_map&, ThreadVariables> search{library, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* context) {
        auto& [wanted, found] = *static_cast<decltype(search)*>(context);
        if (info->dlpi_addr != wanted.l_addr) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          if (part.p_type == PT_TLS) found = {info->dlpi_tls_modid, part.p_memsz};
        }
        return 1;
      },
      &search);
  return search.second;
}

/// One thread at a time, or another's could take the room that this one has seen.
void make_thread_variables() {
  if (thread_variables.module != 0) {
    std::lock_guard lock(supply().mutex);
    const std::size_t bytes = thread_variables.bytes + spare_bytes;
    // From where the C library takes them: what it gets back of a size it keeps for the next.
    void* const room = std::malloc(bytes);
    if (room == nullptr) throw_full(bytes);
    *static_cast<volatile char*>(room) = 0;
    std::free(room);
    std::size_t first[2] = {thread_variables.module, 0};
    __tls_get_addr(&first);
  }
  thread_has_variables = true;
}

/// Where the library's calls of a function of other libraries go through; null where it has none.
void** import_of(const link_map& library, std::string_view name) {
  const ElfW(Rela)* imports = nullptr;
  std::size_t bytes = 0;
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
    const auto* const data = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_JMPREL) imports = reinterpret_cast<const ElfW(Rela)*>(data);
    if (entry->d_tag == DT_PLTRELSZ) bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(data);
    if (entry->d_tag == DT_STRTAB) names = data;
  }
  for (std::size_t i = 0; imports != nullptr && i < bytes / sizeof *imports; ++i) {
    const ElfW(Sym) & symbol = symbols[ELF64_R_SYM(imports[i].r_info)];
    if (names + symbol.st_name == name) {
      return reinterpret_cast<void**>(library.l_addr + imports[i].r_offset);
    }
  }
  return nullptr;
}

#endif

}  // namespace

#if defined(TILEWRIGHT_SUPPLIES_OPENBLAS)

void check_room_for_openblas() {
  void* const room = map(bytes_to_load);
  if (room == nullptr) throw_full(bytes_to_load);
  munmap(room, bytes_to_load);
}

void supply_openblas(const void* function) {
  Dl_info info;
  link_map* library = nullptr;
  if (dladdr1(function, &info, reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP) == 0) return;
  void** const import = import_of(*library, "mmap");
  thread_variables = variables_of(*library);
  if (import == nullptr) return;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* const start =
      reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(import) / page * page);
  if (mprotect(start, page, PROT_READ | PROT_WRITE) != 0) return;
  *import = reinterpret_cast<void*>(&give);
  free_blocks = 0;
}

ProductMemory::ProductMemory() {
  if (!thread_has_variables) make_thread_variables();
  while (!take()) {
    if (make_block()) return;
    free_blocks.wait(0, std::memory_order_relaxed);
  }
}

#else

void check_room_for_openblas() {}

void supply_openblas(const void*) {}

ProductMemory::ProductMemory() { take(); }

#endif

ProductMemory::~ProductMemory() {
  free_blocks.fetch_add(1, std::memory_order_release);
  free_blocks.notify_one();
}

}  // namespace tilewright::cpu
