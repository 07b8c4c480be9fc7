# Level Zero's own header, for the test that holds ours against it.
find_path(TILEWRIGHT_LEVEL_ZERO_HEADERS level_zero/ze_api.h)
if(NOT TILEWRIGHT_LEVEL_ZERO_HEADERS)
  message(FATAL_ERROR "level_zero/ze_api.h was not found, which the C++ tests need: install it "
    "(Debian: libze-dev), or set TILEWRIGHT_LEVEL_ZERO_HEADERS to the folder that holds level_zero")
endif()
