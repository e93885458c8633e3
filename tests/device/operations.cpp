// Operations of the double: each runs on the CPU, on the open mapping of the device's memory, in
// the order of its stream.
#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "counters.h"
#include "memory.h"
#include "ordering.h"
#include "streams.h"

namespace device_double {
namespace {

using Accesses = std::vector<Ordering::Access>;

c10::DispatchKeySet device_keys() {
  return c10::DispatchKeySet(c10::DispatchKey::CUDA);
}

bool on_device(const at::Tensor& tensor) {
  return tensor.defined() && tensor.is_cuda();
}

/// The bytes from the first to the last element of a tensor.
std::optional<Ordering::Access> access_of(const at::Tensor& tensor, bool writes) {
  if (!on_device(tensor) || tensor.numel() == 0) return std::nullopt;
  std::int64_t last = 0;
  for (std::int64_t d = 0; d < tensor.dim(); ++d) last += (tensor.size(d) - 1) * tensor.stride(d);
  const std::size_t begin = offset_of(tensor.data_ptr());
  const std::size_t bytes = static_cast<std::size_t>(last + 1) * tensor.element_size();
  return Ordering::Access{begin, begin + bytes, writes};
}

void add(Accesses& accesses, const at::Tensor& tensor, bool writes) {
  if (const auto access = access_of(tensor, writes)) accesses.push_back(*access);
}

/// A tensor of the CPU on the same bytes, with the same place in the same storage.
at::Tensor on_host(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return at::empty(tensor.sizes(), tensor.options().device(at::kCPU));
  const c10::Storage& storage = tensor.storage();
  at::Tensor made = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(c10::Storage::use_byte_size_t(), storage.nbytes(),
                   c10::DataPtr(open_address(storage.data()), c10::Device(c10::kCPU))),
      c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
  made.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(),
                                                    tensor.storage_offset());
  return made;
}

at::Tensor empty_like_on_device(const at::Tensor& host) {
  return at::detail::empty_strided_generic(host.sizes(), host.strides(), device_allocator(),
                                           device_keys(), host.scalar_type());
}

void resize_to(const at::Tensor& tensor, at::IntArrayRef sizes) {
  auto* impl = tensor.unsafeGetTensorImpl();
  impl->set_sizes_contiguous(sizes);
  const std::size_t bytes =
      static_cast<std::size_t>(impl->numel() + impl->storage_offset()) * tensor.element_size();
  auto* storage = impl->unsafe_storage().unsafeGetStorageImpl();
  if (bytes <= storage->nbytes()) return;
  c10::DataPtr larger = device_allocator()->allocate(bytes);
  if (storage->nbytes() > 0) {
    std::memcpy(open_address(larger.get()), open_address(storage->data()), storage->nbytes());
  }
  storage->set_data_ptr_noswap(std::move(larger));
  storage->set_nbytes(bytes);
}

/// Tensors of the device in one argument, whatever its type.
template <class Visit>
void visit_tensors(const c10::IValue& value, Visit&& visit) {
  if (value.isTensor()) {
    visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) visit(tensor);
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) visit_tensors(item, visit);
  }
}

/// Runs any operation with CPU tensors that alias those of the device.
class OnAliases {
 public:
  c10::IValue translate(const c10::IValue& value) {
    if (value.isTensor()) return of(value.toTensor());
    if (value.isTensorList()) {
      std::vector<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(of(tensor));
      return c10::IValue(list);
    }
    if (value.isOptionalTensorList()) {
      c10::List<c10::optional<at::Tensor>> list;
      for (const c10::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
        list.push_back(tensor ? c10::optional<at::Tensor>(of(*tensor)) : c10::nullopt);
      }
      return c10::IValue(list);
    }
    if (value.isDevice()) return c10::IValue(c10::Device(c10::kCPU));
    return value;
  }

  /// The result as a tensor of the device: an argument itself, a view of one, or a new tensor.
  c10::IValue translate_back(const c10::IValue& value) {
    if (value.isTensor()) return back(value.toTensor());
    if (value.isTensorList()) {
      std::vector<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(back(tensor));
      return c10::IValue(list);
    }
    return value;
  }

  /// Arguments that the operation gave another size.
  void adopt_resized() {
    for (auto& [tensor, host] : pairs_) {
      if (tensor.sizes() == host.sizes()) continue;
      resize_to(tensor, host.sizes());
      on_host(tensor).copy_(host);
    }
  }

 private:
  at::Tensor of(const at::Tensor& tensor) {
    if (!on_device(tensor)) return tensor;
    for (const auto& [seen, host] : pairs_) {
      if (seen.is_same(tensor)) return host;
    }
    pairs_.emplace_back(tensor, on_host(tensor));
    return pairs_.back().second;
  }

  at::Tensor back(const at::Tensor& result) {
    if (!result.defined() || !result.is_cpu()) return result;
    for (const auto& [tensor, host] : pairs_) {
      if (host.is_same(result)) return tensor;
    }
    for (const auto& [tensor, host] : pairs_) {
      if (result.numel() == 0 || !result.storage().is_alias_of(host.storage())) continue;
      return view(tensor, host, result);
    }
    at::Tensor made = empty_like_on_device(result);
    if (result.numel() > 0) on_host(made).copy_(result);
    return made;
  }

  static at::Tensor view(const at::Tensor& base, const at::Tensor& host, const at::Tensor& result) {
    const std::int64_t offset = static_cast<std::int64_t>(
        (static_cast<char*>(result.data_ptr()) - static_cast<char*>(host.data_ptr())) /
        static_cast<std::ptrdiff_t>(result.element_size()));
    at::Tensor made = at::detail::make_tensor<c10::TensorImpl>(
        c10::TensorImpl::VIEW, c10::Storage(base.storage()), base.key_set(), result.dtype());
    made.unsafeGetTensorImpl()->set_sizes_and_strides(result.sizes(), result.strides(),
                                                      base.storage_offset() + offset);
    return made;
  }

  std::vector<std::pair<at::Tensor, at::Tensor>> pairs_;
};

/// fp16 as float, of any argument.
c10::IValue in_float(const c10::IValue& value) {
  const auto widened = [](const at::Tensor& tensor) {
    return tensor.defined() && tensor.scalar_type() == at::kHalf ? tensor.to(at::kFloat) : tensor;
  };
  if (value.isTensor()) return widened(value.toTensor());
  if (!value.isTensorList()) return value;
  std::vector<at::Tensor> list;
  for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(widened(tensor));
  return c10::IValue(list);
}

/// LibTorch has few kernels for fp16 on CPUs. GPUs too multiply in it and add in float; what comes
/// out is rounded to fp16. Where arguments are mixed, as weights and input of a batch norm, the
/// first result has the type of the input.
void run_in_float(const c10::OperatorHandle& op, const std::vector<c10::IValue>& arguments,
                  torch::jit::Stack* stack) {
  bool all_half = true;
  std::vector<c10::IValue> wide;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    visit_tensors(arguments[i], [&](const at::Tensor& tensor) {
      all_half &= !tensor.defined() || tensor.scalar_type() != at::kFloat;
    });
    const bool is_type = op.schema().arguments()[i].name().ends_with("dtype");
    const bool is_half = is_type && arguments[i] == c10::IValue(static_cast<int>(at::kHalf));
    wide.push_back(is_half ? c10::IValue(static_cast<int>(at::kFloat)) : in_float(arguments[i]));
    stack->push_back(wide.back());
  }
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto* info = op.schema().arguments()[i].alias_info();
    if (info == nullptr || !info->isWrite() || !arguments[i].isTensor()) continue;
    if (!arguments[i].toTensor().is_same(wide[i].toTensor())) {
      arguments[i].toTensor().copy_(wide[i].toTensor());
    }
  }
  const std::size_t results = op.schema().returns().size();
  for (std::size_t i = 0; i < results; ++i) {
    c10::IValue& result = (*stack)[stack->size() - results + i];
    if (!result.isTensor() || !result.toTensor().defined()) continue;
    const at::Tensor tensor = result.toTensor();
    const auto given = std::find_if(wide.begin(), wide.end(), [&](const c10::IValue& argument) {
      return argument.isTensor() && argument.toTensor().is_same(tensor);
    });
    if (given != wide.end()) {
      result = arguments[static_cast<std::size_t>(given - wide.begin())];
    } else if (tensor.scalar_type() == at::kFloat && (all_half || i == 0)) {
      result = tensor.to(at::kHalf);
    }
  }
}

void run_on_aliases(const c10::OperatorHandle& op, std::size_t begin, torch::jit::Stack* stack) {
  static auto* const without_half = new std::set<std::string>;
  const std::vector<c10::IValue> arguments(stack->begin() + static_cast<std::ptrdiff_t>(begin),
                                           stack->end());
  const bool has_half = std::any_of(arguments.begin(), arguments.end(), [](const auto& argument) {
    return argument.isTensor() && argument.toTensor().defined() &&
           argument.toTensor().scalar_type() == at::kHalf;
  });
  const std::string name = c10::toString(op.operator_name());
  if (has_half && without_half->count(name) > 0) {
    stack->resize(begin);
    return run_in_float(op, arguments, stack);
  }
  try {
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  } catch (const c10::Error& error) {
    const std::string_view text = error.what_without_backtrace();
    if (text.find("'Half'") == text.npos && text.find("dtype c10::Half") == text.npos) throw;
    without_half->insert(name);
    stack->resize(begin);
    run_in_float(op, arguments, stack);
  }
}

c10::DeviceIndex device_among(const torch::jit::Stack& stack, std::size_t arguments) {
  c10::DeviceIndex device = current_device();
  for (std::size_t i = stack.size() - arguments; i < stack.size(); ++i) {
    const c10::IValue& argument = stack[i];
    if (argument.isDevice() && argument.toDevice().is_cuda() && argument.toDevice().has_index()) {
      device = argument.toDevice().index();
    }
    visit_tensors(argument, [&](const at::Tensor& tensor) {
      if (on_device(tensor)) device = tensor.device().index();
    });
  }
  return device;
}

void on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  const std::size_t count = schema.arguments().size();
  const std::size_t begin = stack->size() - count;
  Accesses accesses;
  for (std::size_t i = 0; i < count; ++i) {
    const auto* info = schema.arguments()[i].alias_info();
    const bool writes = info != nullptr && info->isWrite();
    visit_tensors((*stack)[begin + i],
                  [&](const at::Tensor& tensor) { add(accesses, tensor, writes); });
  }
  bool is_view = false;
  for (const auto& result : schema.returns()) {
    is_view |= result.alias_info() != nullptr && !result.alias_info()->isWrite();
  }
  if (is_view) {
    accesses.clear();  // it touches no bytes
  } else {
    ++Counters::instance().operations;
  }
  // Results are made on the GPU of the arguments, whichever is the thread's own.
  const c10::DeviceGuard guard({c10::kCUDA, device_among(*stack, count)});
  const int stream = current_stream(current_device());
  Ordering::instance().run(stream, accesses, [&] {
    OnAliases aliases;
    for (std::size_t i = begin; i < stack->size(); ++i) {
      (*stack)[i] = aliases.translate((*stack)[i]);
    }
    run_on_aliases(op, begin, stack);
    aliases.adopt_resized();
    const std::size_t results = schema.returns().size();
    for (std::size_t i = stack->size() - results; i < stack->size(); ++i) {
      (*stack)[i] = aliases.translate_back((*stack)[i]);
    }
  });
  // New tensors are written by this stream too.
  Accesses written;
  for (std::size_t i = stack->size() - schema.returns().size(); !is_view && i < stack->size();
       ++i) {
    visit_tensors((*stack)[i], [&](const at::Tensor& tensor) { add(written, tensor, true); });
  }
  Ordering::instance().run(stream, written, [] {});
}

at::Tensor empty(at::IntArrayRef sizes, c10::optional<at::ScalarType> type,
                 c10::optional<at::Layout>, c10::optional<at::Device> device, c10::optional<bool>,
                 c10::optional<at::MemoryFormat> format) {
  const c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_generic(sizes, device_allocator(), device_keys(),
                                   c10::dtype_or_default(type), format);
}

at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides,
                         c10::optional<at::ScalarType> type, c10::optional<at::Layout>,
                         c10::optional<at::Device> device, c10::optional<bool>) {
  const c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_strided_generic(sizes, strides, device_allocator(), device_keys(),
                                           c10::dtype_or_default(type));
}

/// Copies between host and device. Of pinned memory and non-blocking, they are made later; a copy
/// to the host is preceded by garbage, so that reading too early shows.
at::Tensor& copy(at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  if (self.numel() == 0 && source.numel() == 0) return self;
  Accesses accesses;
  add(accesses, source, false);
  add(accesses, self, true);
  const auto device = on_device(self) ? self.device().index() : source.device().index();
  const int stream = current_stream(device);
  const at::Tensor from = on_device(source) ? on_host(source) : source;
  at::Tensor to = on_device(self) ? on_host(self) : self;
  const bool crosses = on_device(self) != on_device(source);
  const at::Tensor& host = on_device(self) ? source : self;
  if (crosses && on_device(self)) {
    Counters::instance().bytes_to_device += static_cast<std::int64_t>(self.nbytes());
  }
  const auto copy_now = [from, to]() mutable {
    const at::NoGradGuard no_grad;
    at::AutoDispatchBelowADInplaceOrView below;
    to.copy_(from);
  };
  if (crosses && non_blocking && is_pinned(host.data_ptr())) {
    if (on_device(source)) std::memset(self.data_ptr(), 0xFF, self.nbytes());
    Ordering::instance().queue(stream, accesses, copy_now);
    return self;
  }
  Ordering::instance().run(stream, accesses, copy_now);
  if (crosses) Ordering::instance().synchronize(stream);
  return self;
}

at::Scalar local_scalar(const at::Tensor& self) {
  Accesses accesses;
  add(accesses, self, false);
  const int stream = current_stream(self.device().index());
  at::Scalar value;
  Ordering::instance().run(stream, accesses, [&] { value = on_host(self).item(); });
  Ordering::instance().synchronize(stream);
  return value;
}

const at::Tensor& resize(const at::Tensor& self, at::IntArrayRef sizes,
                         c10::optional<at::MemoryFormat> format) {
  TORCH_CHECK(!format || *format == at::MemoryFormat::Contiguous,
              "the double resizes densely only");
  resize_to(self, sizes);
  return self;
}

at::Tensor& set_storage(at::Tensor& self, at::Storage storage, std::int64_t offset,
                        at::IntArrayRef sizes, at::IntArrayRef strides) {
  auto* impl = self.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(std::move(storage));
  impl->set_sizes_and_strides(sizes, strides, offset);
  return self;
}

bool pinned(const at::Tensor& self, c10::optional<at::Device>) {
  return self.is_cpu() && is_pinned(self.data_ptr());
}

at::Tensor pin(const at::Tensor& self, c10::optional<at::Device>) {
  at::Tensor made = at::detail::empty_strided_generic(
      self.sizes(), self.strides(), pinned_allocator(), c10::DispatchKeySet(c10::DispatchKey::CPU),
      self.scalar_type());
  return made.copy_(self);
}

void use_on_stream(at::Tensor& self, at::Stream stream) {
  note_stream(self.storage().data_ptr(), number_of(stream));
}

}  // namespace

TORCH_LIBRARY_IMPL(_, CUDA, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&on_cpu>());
}

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("empty.memory_format", &empty);
  library.impl("empty_strided", &empty_strided);
  library.impl("copy_", &copy);
  library.impl("_local_scalar_dense", &local_scalar);
  library.impl("resize_", &resize);
  library.impl("set_.source_Storage_storage_offset", &set_storage);
  library.impl("is_pinned", &pinned);
  library.impl("_pin_memory", &pin);
  library.impl("record_stream", &use_on_stream);
  // Composites that would look for a CUDA kernel by the type of the device.
  library.impl("convolution", torch::CppFunction::makeFromBoxedFunction<&on_cpu>());
  library.impl("convolution_backward", torch::CppFunction::makeFromBoxedFunction<&on_cpu>());
}

REGISTER_ALLOCATOR(c10::kCUDA, device_allocator())

Counters& Counters::instance() {
  static Counters counters;
  return counters;
}

}  // namespace device_double
