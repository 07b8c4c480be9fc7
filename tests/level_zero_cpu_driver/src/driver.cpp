#include <cstdio>
#include <cstring>
#include <iterator>

#include "api.hpp"
#include "device.hpp"
#include "give.hpp"
#include "log.hpp"
#include "opencl.hpp"
#include "settings.hpp"

namespace ze_cpu {
namespace {

constexpr uint32_t kDriverVersion = 1;

ze_driver_handle_t the_driver() {
  static const ze_driver_handle_t handle = publish(std::make_shared<Driver>());
  return handle;
}

constexpr const char* kExtensions[] = {"ZE_experimental_relaxed_allocation_limits"};

}  // namespace

namespace api {

ze_result_t zeInit(ze_init_flags_t) {
  try {
    opencl();
  } catch (const Failure& failure) {
    complain(failure.message);
    throw;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeInitDrivers(uint32_t* count, ze_driver_handle_t* drivers, void* descriptor) {
  require_pointer(descriptor, "desc");
  const ze_result_t result = api::zeInit(0);
  return result == ZE_RESULT_SUCCESS ? api::zeDriverGet(count, drivers) : result;
}

ze_result_t zeDriverGet(uint32_t* count, ze_driver_handle_t* drivers) {
  give(count, drivers, 1, [](auto& driver, uint32_t) { driver = the_driver(); });
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDriverGetApiVersion(ze_driver_handle_t driver, ze_api_version_t* version) {
  find<Driver>(driver);
  require_pointer(version, "version");
  *version = kApiVersion;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDriverGetProperties(ze_driver_handle_t driver, ze_driver_properties_t* properties) {
  find<Driver>(driver);
  require_descriptor(properties, ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES, "pDriverProperties");
  std::memcpy(properties->uuid.id, "ze_cpu driver 1", sizeof(properties->uuid.id));
  properties->driverVersion = kDriverVersion;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDriverGetExtensionProperties(ze_driver_handle_t driver, uint32_t* count,
                                           ze_driver_extension_properties_t* properties) {
  find<Driver>(driver);
  give(count, properties, std::size(kExtensions), [](auto& extension, uint32_t i) {
    std::snprintf(extension.name, sizeof(extension.name), "%s", kExtensions[i]);
    extension.version = ZE_MAKE_VERSION(1, 0);
  });
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDriverGetExtensionFunctionAddress(ze_driver_handle_t driver, const char* name,
                                                void** address) {
  find<Driver>(driver);
  require_pointer(name, "name");
  require_pointer(address, "ppFunctionAddress");
  fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "there is no extension function ", name);
}

ze_result_t zeDriverGetLastErrorDescription(ze_driver_handle_t driver, const char** description) {
  find<Driver>(driver);
  require_pointer(description, "ppString");
  *description = last_error().c_str();
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeContextCreate(ze_driver_handle_t driver, const ze_context_desc_t* desc,
                            ze_context_handle_t* context) {
  return api::zeContextCreateEx(driver, desc, 0, nullptr, context);
}

ze_result_t zeContextCreateEx(ze_driver_handle_t driver, const ze_context_desc_t* desc,
                              uint32_t device_count, ze_device_handle_t* devices,
                              ze_context_handle_t* context) {
  find<Driver>(driver);
  require_descriptor(desc, ZE_STRUCTURE_TYPE_CONTEXT_DESC, "desc");
  require_pointer(context, "phContext");
  for (uint32_t i = 0; i < device_count; ++i) find<Device>(devices[i]);
  *context = publish(std::make_shared<Context>());
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeContextDestroy(ze_context_handle_t context) {
  destroy<Context>(context);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeContextGetStatus(ze_context_handle_t context) {
  find<Context>(context);
  return devices_are_lost() ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_SUCCESS;
}

}  // namespace api
}  // namespace ze_cpu
