#pragma once

#include <torch/torch.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/data_parallel.h"
#include "lockstep/library/job_state.h"
#include "lockstep/library/replica.h"
#include "lockstep/measure/noise_scale.h"
#include "lockstep/train/sync/gradient_sync.h"

namespace lockstep::library {

/// Keeps one module the same on all ranks of a job: DataParallel without the call of the module.
/// GradientSync sums the gradients; this class decides when a step begins and ends, lets the ranks
/// check each other, and carries buffers and flags along in the tail of the last bucket, where they
/// cost no message of their own.
class Reducer {
 public:
  Reducer(std::shared_ptr<torch::nn::Module> module, const Job& job, DataParallelOptions options);
  ~Reducer();
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  void before_forward(std::int64_t examples);
  void after_forward();
  /// Backward stays on this rank from now on, or no longer. Nests.
  void pause(bool on) { paused_ += on ? 1 : -1; }
  void begin_join() { joining_ = true; }
  void finish_join();
  void broadcast_buffers();
  std::optional<NoiseEstimate> noise_scale() const;
  std::size_t buckets() const { return plan_.buckets.size(); }

 private:
  /// Places in the tail; flags by parameter and the buffers follow. Numbers on which ranks must
  /// agree come with their squares: a sum of squares is N times the square of the mean only where
  /// all are equal.
  enum Tail : std::size_t { kPasses, kPassesSquared, kExamples, kExamplesSquared, kNorm, kFlags };

  void collect_parameters();
  void set_up_sync();
  void check_parameters() const;
  bool begin_stray_step();
  void begin_step();
  void rebuild_buckets();
  void fill_tail(std::span<float> tail);
  void backward_done();
  void read_tail();
  void require_equal_passes(double sum, double squares);
  void measure_noise();
  bool wants_norms() const;
  /// The rank whose buffers all get: during a join one that still has batches.
  int buffer_source() const { return joining_ ? last_active_ : 0; }
  bool sends_buffers() const;
  bool buffers_on_device() const;
  torch::Tensor buffer_part(const torch::Tensor& tail) const;
  [[noreturn]] void refuse(const std::string& message, const std::string& hint) const;

  std::shared_ptr<torch::nn::Module> module_;
  Job job_;
  JobState& state_;
  DataParallelOptions options_;
  comm::Communicator& communicator_;
  std::vector<ModuleTensor> tensors_;
  std::vector<torch::Tensor> parameters_;  ///< those that are trained
  std::vector<std::string> names_;
  std::vector<torch::Tensor> buffers_;
  std::vector<torch::Tensor> all_parameters_;  ///< as the module listed them, to see replaced ones
  std::vector<bool> trained_;
  torch::Device device_{torch::kCPU};
  comm::BucketPlan plan_;
  std::optional<train::GradientSync> sync_;

  int paused_ = 0;
  int paused_passes_ = 0;      ///< forwards without synchronisation since the last with
  int passes_ = 0;             ///< forwards whose backward has not come yet
  std::int64_t examples_ = 0;  ///< of this rank since the last synchronised backward
  std::int64_t steps_ = 0;
  bool rebuilt_ = false;
  std::vector<std::size_t> unused_;  ///< with a static graph: in its first step
  bool joining_ = false;
  int last_active_ = 0;   ///< rank that had a batch in the last round of a join
  bool watched_ = false;  ///< every rank records
  measure::NoiseScale noise_;
};

}  // namespace lockstep::library
