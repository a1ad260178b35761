/* The functions of libudev that a static hwloc refers to. hwloc asks udev for the names of disks, which
 * Hearth does not discover; without a udev context (null) it asks for nothing else. So mpiexec and hearth
 * need neither library where they run. */
#include <stddef.h>

struct udev;
struct udev_device;

struct udev* udev_new(void);
struct udev* udev_unref(struct udev* context);
struct udev_device* udev_device_new_from_subsystem_sysname(struct udev* context, const char* subsystem,
                                                           const char* name);
struct udev_device* udev_device_unref(struct udev_device* device);
const char* udev_device_get_property_value(struct udev_device* device, const char* key);

struct udev* udev_new(void) {
  return NULL;
}
struct udev* udev_unref(struct udev* context) {
  (void)context;
  return NULL;
}
struct udev_device* udev_device_new_from_subsystem_sysname(struct udev* context, const char* subsystem,
                                                           const char* name) {
  (void)context;
  (void)subsystem;
  (void)name;
  return NULL;
}
struct udev_device* udev_device_unref(struct udev_device* device) {
  (void)device;
  return NULL;
}
const char* udev_device_get_property_value(struct udev_device* device, const char* key) {
  (void)device;
  (void)key;
  return NULL;
}
