// The few functions that GCC 12's headers call and that libstdc++ before GCC 9 does not export, by
// way of those it does. Each library gets its own hidden copy. One that is missing here shows as a
// too recent GLIBCXX or CXXABI version when auditwheel checks the wheel.

#include <new>
#include <sstream>
#include <string>

#define TILEWRIGHT_COMPAT(symbol) __asm__(symbol) __attribute__((visibility("hidden")))

namespace std {

// GLIBCXX_3.4.29
__attribute__((visibility("hidden"))) void __throw_bad_array_new_length() {
  throw bad_array_new_length();
}

}  // namespace std

// GLIBCXX_3.4.26: std::ostringstream()
void* make_ostringstream(void* self)
    TILEWRIGHT_COMPAT("_ZNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEEC1Ev");

void* make_ostringstream(void* self) { return new (self) std::ostringstream(std::ios_base::out); }

// GLIBCXX_3.4.29: std::istringstream(std::string&&, std::ios_base::openmode)
void* make_istringstream(void* self, const std::string& text, std::ios_base::openmode mode)
    TILEWRIGHT_COMPAT(
        "_ZNSt7__cxx1119basic_istringstreamIcSt11char_traitsIcESaIcEEC1EONS_12basic_stringIcS2_S3_"
        "EESt13_Ios_Openmode");

void* make_istringstream(void* self, const std::string& text, std::ios_base::openmode mode) {
  return new (self) std::istringstream(text, mode);
}

// CXXABI_1.3.13: std::exception_ptr's counting, which its copy constructor and its destructor do.
// Those of the shared library, by their versions: the headers have inline ones, which come here.
extern "C" void shared_copy(void* self, const void* from);
extern "C" void shared_destroy(void* self);
__asm__(".symver shared_copy, _ZNSt15__exception_ptr13exception_ptrC1ERKS0_@CXXABI_1.3.3");
__asm__(".symver shared_destroy, _ZNSt15__exception_ptr13exception_ptrD1Ev@CXXABI_1.3.3");

void add_reference(void* self)
    TILEWRIGHT_COMPAT("_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv");
void release(void* self) TILEWRIGHT_COMPAT("_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");

void add_reference(void* self) {
  void* counted_and_kept;
  shared_copy(&counted_and_kept, self);
}

void release(void* self) { shared_destroy(self); }
