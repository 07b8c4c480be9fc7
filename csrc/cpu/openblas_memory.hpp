#pragma once

namespace tilewright::cpu {

/// Has OpenBLAS, of which this is a function, take its working memory from here: one block for each
/// product that runs at a time. Where it finds no memory itself, it ends the process.
void supply_openblas(const void* function);

/// Throws OutOfMemory where OpenBLAS could not be loaded for want of memory.
void check_room_for_openblas();

/// The working memory of one product while it runs. Where the system gives no more, it waits until
/// another product is done; where there is none at all, it throws OutOfMemory.
class ProductMemory {
 public:
  ProductMemory();
  ~ProductMemory();
  ProductMemory(const ProductMemory&) = delete;
  ProductMemory& operator=(const ProductMemory&) = delete;
};

}  // namespace tilewright::cpu
