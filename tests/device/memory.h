#pragma once

#include <c10/core/Allocator.h>

#include <cstddef>

namespace device_double {

/// Device memory: one file mapped twice, without any access where tensors point to, and open where
/// the double's own operations work. A host that follows a device pointer faults.
std::byte* open_address(const void* device_pointer);
bool is_device_memory(const void* pointer);
/// Byte offset in the memory of all devices.
std::size_t offset_of(const void* device_pointer);
int device_of(const void* device_pointer);

c10::Allocator* device_allocator();
/// Page-locked memory of the host, from and to which copies may be made later.
c10::Allocator* pinned_allocator();
bool is_pinned(const void* pointer);
/// Makes memory that others allocated pinned, and ordinary again.
void pin_range(const void* begin, std::size_t bytes);
bool unpin_range(const void* begin);

/// The allocator's note that a stream uses the memory too.
void note_stream(const c10::DataPtr& memory, int stream);

}  // namespace device_double
