#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "lockstep/job.h"

namespace lockstep {

/// The numbers in which gradients travel between ranks.
enum class Wire { kFloat32, kFloat16, kBFloat16 };

/// The gradient noise scale, in examples (McCandlish et al. 2018): batches far below it gain in
/// proportion to their size, batches above it gain little. With its 95 % interval.
struct NoiseEstimate {
  double value = 0;
  double low = 0;
  std::optional<double> high;  ///< absent if the gradient cannot be distinguished from its noise
};

struct DataParallelOptions {
  /// A bucket is summed once it has this many bytes of gradients.
  std::int64_t bucket_bytes = 4 << 20;
  /// After each synchronised backward all ranks get the buffers of rank 0, for example the running
  /// averages of batch norms.
  bool broadcast_buffers = true;
  /// Communication hook: gradients are rounded to 16 bits on the wire and summed in 32 bits, by
  /// NCCL in 16.
  Wire wire = Wire::kFloat32;
  /// Your own: called with each bucket, a flat tensor of this rank's gradients divided by the
  /// number of ranks, right before it is summed. Change it in place.
  std::function<void(torch::Tensor&)> before_sum{};
  /// Every step uses the parameters that the first step used. Buckets then do not wait for
  /// parameters that never get a gradient; a step that uses others is an error.
  bool static_graph = false;
  /// Estimates the gradient noise scale from every step; costs two passes over the gradients.
  bool noise_scale = false;
  /// In messages, where a program has several modules.
  std::string name = "the network";
};

/// What DataParallel does apart from calling the module.
class DataParallelBase {
 public:
  DataParallelBase(const DataParallelBase&) = delete;
  DataParallelBase& operator=(const DataParallelBase&) = delete;

  /// The backward of each forward that runs while it lives adds to the gradients of this rank and
  /// sends nothing; the first backward after that averages what has come together. For gradient
  /// accumulation:
  ///
  ///   const auto local = ddp.no_sync(micro + 1 < micro_steps);
  class NoSync {
   public:
    explicit NoSync(DataParallelBase& parallel, bool on = true);
    ~NoSync();
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    DataParallelBase& parallel_;
    bool on_;
  };
  [[nodiscard]] NoSync no_sync(bool on = true) { return NoSync(*this, on); }

  /// For ranks with unequal numbers of batches. While it lives, ranks that still have batches go
  /// on; a rank that has none left stays in finish(), or in the destructor, and takes part in their
  /// sums with zeros. Gradients are divided by the number of all ranks, as by default in Python.
  ///
  ///   { auto uneven = ddp.join(); for (auto& batch : *loader) { ... } }
  class Join {
   public:
    explicit Join(DataParallelBase& parallel);
    /// Calls finish(), unless an exception is on its way.
    ~Join() noexcept(false);
    Join(const Join&) = delete;
    Join& operator=(const Join&) = delete;
    /// Collective in its way: returns when no rank has a batch left.
    void finish();

   private:
    DataParallelBase& parallel_;
    int exceptions_;
    bool finished_ = false;
  };
  [[nodiscard]] Join join() { return Join(*this); }

  /// All ranks get the buffers of rank 0 now. Collective.
  void broadcast_buffers();

  /// With DataParallelOptions::noise_scale; nothing before some steps, and with one rank.
  std::optional<NoiseEstimate> noise_scale() const;

  /// For tests and the curious: how many buckets there are.
  std::size_t buckets() const;

 protected:
  DataParallelBase(std::shared_ptr<torch::nn::Module> module, const Job& job,
                   DataParallelOptions options);
  ~DataParallelBase();

  void before_forward(std::int64_t examples);
  void after_forward();

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

/// A module that is trained by all ranks of a job: each rank calls it with its own examples, and
/// when backward returns, parameters' gradients are the means over ranks, the same bits everywhere.
/// With losses that are means over b examples on each rank, that is the gradient of the mean over
/// N b examples.
///
/// Construction is collective: it checks that all ranks have the same parameters by name, shape and
/// type, and gives all ranks the values of rank 0, buffers included. Gradients are summed in
/// buckets while backward still runs, and they are views of the buckets: keep the module's
/// parameters (load values into them, do not replace them), and create the optimizer from
/// module->parameters() before or after. Parameters that are frozen at construction must stay so;
/// others may be frozen for some steps, on all ranks alike. Those that are trained are 32-bit
/// floats on one device. Those that a step does not use count as zero on this rank; if no rank used
/// one, its gradient stays as it is.
///
/// Call the wrapper, not the module, for what is to be trained; where gradients are off
/// (torch::NoGradGuard) it only calls the module. Several wrappers can be used in one program, in
/// the same order on all ranks. One thread.
///
/// Errors, on all ranks: kUsage for parameters that differ between ranks or were replaced, for a
/// second backward without a forward, for ranks with different numbers of passes; kPeer as in Job.
template <class Module>
class DataParallel : public DataParallelBase {
  static_assert(
      std::is_base_of_v<torch::nn::Module, Module>,
      "DataParallel<Net> takes the class of the module; for a holder of TORCH_MODULE(Net) "
      "that is NetImpl, which `lockstep::DataParallel ddp(net, job);` finds by itself");

 public:
  DataParallel(std::shared_ptr<Module> module, const Job& job, DataParallelOptions options = {})
      : DataParallelBase(module, job, std::move(options)), module_(std::move(module)) {}
  /// Of a module holder, as TORCH_MODULE makes them.
  DataParallel(const torch::nn::ModuleHolder<Module>& module, const Job& job,
               DataParallelOptions options = {})
      : DataParallel(module.ptr(), job, std::move(options)) {}

  template <class... Inputs>
  auto forward(Inputs&&... inputs) {
    before_forward(leading_dimension(inputs...));
    auto output = module_->forward(std::forward<Inputs>(inputs)...);
    after_forward();
    return output;
  }
  template <class... Inputs>
  auto operator()(Inputs&&... inputs) {
    return forward(std::forward<Inputs>(inputs)...);
  }

  const std::shared_ptr<Module>& module() const { return module_; }
  Module* operator->() const { return module_.get(); }

 private:
  template <class First, class... Rest>
  static std::int64_t leading_dimension(const First& first, const Rest&...) {
    if constexpr (std::is_convertible_v<const First&, const torch::Tensor&>) {
      const torch::Tensor& tensor = first;
      return tensor.dim() > 0 ? tensor.size(0) : 0;
    } else {
      return 0;
    }
  }
  static std::int64_t leading_dimension() { return 0; }

  std::shared_ptr<Module> module_;
};

template <class Module>
DataParallel(std::shared_ptr<Module>, const Job&, DataParallelOptions = {}) -> DataParallel<Module>;
template <class Holder, class = typename Holder::ContainedType>
DataParallel(Holder, const Job&, DataParallelOptions = {})
    -> DataParallel<typename Holder::ContainedType>;

}  // namespace lockstep
