# cmake -DFOLDER=... -DOUTPUT=... -P embed_kernels.cmake: writes the kernel files of a folder as one
# C++ table of {name, text}.
file(GLOB files ${FOLDER}/*)
list(SORT files)
set(entries "")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME)
  file(READ ${file} content HEX)
  string(LENGTH "${content}" digits)
  math(EXPR bytes "${digits} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" content "${content}")
  string(APPEND entries "    {\"${name}\", std::string_view(\"${content}\", ${bytes})},\n")
endforeach()
file(WRITE ${OUTPUT}
  "#include \"gpu/kernel_files.hpp\"\n\nnamespace tilewright::gpu {\n\nnamespace {\n"
  "constexpr KernelFile files[] = {\n${entries}};\n}\n\n"
  "std::span<const KernelFile> embedded_kernel_files() { return files; }\n\n}\n")
