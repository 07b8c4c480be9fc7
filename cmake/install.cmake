# The same layout in a prefix and in the wheel, where the prefix is the Python package's folder:
# include/tilewright, lib, lib/cmake/tilewright.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(TILEWRIGHT_CMAKE_DIR lib/cmake/tilewright)

install(TARGETS tilewright EXPORT tilewright
  LIBRARY DESTINATION lib
  ARCHIVE DESTINATION lib
  RUNTIME DESTINATION lib
  FILE_SET HEADERS DESTINATION include)
install(PROGRAMS ${PROJECT_BINARY_DIR}/lib/${TILEWRIGHT_OPENBLAS_NAME} DESTINATION lib)
install(FILES ${TILEWRIGHT_OPENBLAS_LICENSE} DESTINATION share/tilewright/licenses
  RENAME LICENSE-OPENBLAS.txt)
if(TILEWRIGHT_PYTHON)
  install(FILES third_party/LICENSE-PYBIND11.txt DESTINATION share/tilewright/licenses)
endif()
if(TILEWRIGHT_WEBGPU)
  install(PROGRAMS ${PROJECT_BINARY_DIR}/lib/${TILEWRIGHT_WGPU_NAME} DESTINATION lib)
  install(FILES third_party/LICENSE-WGPU-MIT.txt DESTINATION share/tilewright/licenses)
  install(FILES LICENSE-APACHE DESTINATION share/tilewright/licenses
    RENAME LICENSE-WGPU-APACHE.txt)
endif()
install(EXPORT tilewright NAMESPACE tilewright:: DESTINATION ${TILEWRIGHT_CMAKE_DIR}
  FILE tilewrightTargets.cmake)
configure_package_config_file(cmake/tilewrightConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/tilewrightConfig.cmake INSTALL_DESTINATION ${TILEWRIGHT_CMAKE_DIR})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tilewrightConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/tilewrightConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/tilewrightConfigVersion.cmake
  DESTINATION ${TILEWRIGHT_CMAKE_DIR})
