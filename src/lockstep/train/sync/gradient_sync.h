#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "lockstep/base/clock.h"
#include "lockstep/comm/communicator.h"
#include "lockstep/comm/wire/bucket_plan.h"
#include "lockstep/record/choices.h"
#include "lockstep/train/sync/page_lock.h"
#include "lockstep/train/sync/readback.h"
#include "lockstep/train/sync/torch_version.h"

namespace lockstep::train {

using record::Strategy;

struct SyncOptions {
  Strategy strategy = Strategy::kOverlap;
  record::Wire wire = record::Wire::kFloat;  ///< of gradients; the tail always travels as it is
  /// Index in the tail for the squared norm of the rank's own gradients; none = not wanted.
  std::optional<std::size_t> norm_slot{};
  /// Index in the tail for 1 where these gradients are not all finite; needs norm_slot.
  std::optional<std::size_t> overflow_slot{};
  /// A rank needs the sums of its own shares alone (comm::Shares of flat()), because it updates no
  /// other parameters. On the host; with kOverlap and kBlocking.
  bool shares_only = false;
  /// Gather gradients as if the host could not reach into their device; for tests where there is
  /// no GPU.
  bool as_on_device = false;

  /// Gradients stay with their parameters, as views of the flat buffer, so that any optimizer finds
  /// the sums there. Off: they are moved out, and parameters are left without.
  bool views = false;
  /// Each gradient is multiplied by this before it is summed.
  double scale = 1;
  /// Called with the tail right before it is handed over, when arrived() is final for this step.
  std::function<void(std::span<float>)> fill_tail{};
  /// On a device: called after fill_tail with the tail there, to which values of the device can be
  /// written without a wait of the host.
  std::function<void(const torch::Tensor&)> fill_tail_on_device{};
  /// Called at the first gradient of each backward pass of a step.
  std::function<void()> on_backward{};
  /// Called for a gradient outside of any step; true = a step begins with it. Without it, such
  /// gradients are left alone.
  std::function<bool()> on_stray{};
  /// Called with each bucket of gradients before it is summed; may change it in place.
  std::function<void(torch::Tensor&)> before_sum{};
};

/// Sums the gradients of all ranks while backward runs.
///
/// Hooks on the parameters move each gradient, as autograd produces it, into its slot of one flat
/// buffer that the communicator reduces in place; with kOverlap a full bucket is handed over at
/// once, buckets always in the same order on every rank. A loss divided by the global batch on each
/// rank thus gives the gradient of the global mean. With kCentral only rank 0 has the sums, with
/// kLocal each rank keeps its own gradients and nothing is sent. One thread; the network must
/// outlive this object.
///
/// The flat buffer lies on the device of the parameters. On a GPU a communicator that sums there
/// (NCCL) does so in place; for any other, buckets pass through the host. The tail is always the
/// host's.
///
///   sync.begin_step();    // before the step's first backward; begin_step(A) for A micro-steps
///   loss.backward();
///   sync.finish();        // blocks; flat() and tail() contain the sums
///
/// or, so that the host waits for a device once per step, and late:
///
///   sync.queue_sums();     // what is queued on the device's current stream now finds the sums
///   sync.queue_results();  // work that uses flat() may be queued now
///   sync.read_results();   // blocks; tail() and sum_squares() are there
///
/// With `shares_only` read_results() also waits until all ranks have called it. Called after the
/// update, it returns when all updates are done and gradients may be written again.
class GradientSync {
 public:
  /// `parameters` as in FlatParameters, with the same plan. The tail of the plan rides along with
  /// the last bucket: set it before that is handed over.
  GradientSync(std::vector<torch::Tensor> parameters, comm::BucketPlan plan,
               comm::Communicator& communicator, const SyncOptions& options, const Clock& clock);
  ~GradientSync();
  GradientSync(const GradientSync&) = delete;
  GradientSync& operator=(const GradientSync&) = delete;

  /// `micro_steps` backward passes will add up before anything is handed over.
  void begin_step(int micro_steps = 1);

  /// Backward will not reach these parameters in this step: buckets do not wait for them. After
  /// begin_step(). A gradient of one of them throws kUsage.
  void skip(std::span<const std::size_t> parameters);

  /// The squared norm of the rank's own gradients is put into the tail times this; before the last
  /// bucket is handed over. The default is 1.
  void weigh_norm(double weight) { norm_weight_ = weight; }

  /// Floats summed over ranks together with the gradients; zero at begin_step().
  std::span<float> tail();

  /// The tail on the device, for what is queued there after queue_sums(); undefined on the host.
  torch::Tensor tail_on_device() const;

  /// Adds values that were computed on the device to the tail, which the host then need not wait
  /// for; before the last bucket is handed over. As many as the tail has.
  void add_to_tail(torch::Tensor values) { added_to_tail_ = std::move(values); }

  /// Whether a step has begun and not ended.
  bool active() const { return active_; }

  /// Whether backward has reached the parameter in this step.
  bool arrived(std::size_t parameter) const { return arrivals_[parameter] > 0; }

  /// The parameters in the order in which their gradients arrived in this step, first to last.
  std::span<const std::size_t> arrival_order() const { return arrival_order_; }

  /// The part of the flat buffer that is the parameter's gradient.
  const torch::Tensor& slot(std::size_t parameter) const { return slots_[parameter]; }

  /// Lays out the flat buffer by `plan`, of the same parameters and length; gradients that are
  /// views of it keep their values. Between steps only.
  void relayout(comm::BucketPlan plan);

  /// Cuts the flat buffer into other buckets: a plan of the same parameters in the same places.
  /// Between steps only.
  void rebucket(comm::BucketPlan plan);

  /// Whether the squared norm is computed; on unless switched off.
  void measure_norm(bool wanted) { norm_wanted_ = wanted; }

  /// Hands over what backward left out and all that kBlocking postponed. Does not block. From
  /// here on communication is exposed.
  void hand_over_rest();

  /// Blocks until all sums are there, and sum_squares() if wanted.
  void finish(bool sum_squares = false);

  /// The three parts of finish(). The first does not block on a device whose communicator sums
  /// there; elsewhere it does.
  void queue_sums();
  /// Begins to read back the tail and, if wanted, the squared norm of the summed gradients.
  void queue_results(bool sum_squares = false);
  void read_results();
  /// As asked for in queue_results(), on all ranks or on none.
  double sum_squares() const { return sum_squares_; }

  /// The flat gradients, laid out by the plan, on the parameters' device; the sums, or the rank's
  /// shares of them, after finish(). The tail's part of it is not for use.
  const torch::Tensor& flat() const { return flat_; }

  /// When each bucket of this step was handed over.
  std::span<const Nanoseconds> handed_over() const { return handed_over_; }

 private:
  class Hook;

  void take(std::size_t parameter);
  void move_out(std::size_t parameter);
  void make_view(std::size_t parameter);
  void zero_missing(std::size_t parameter);
  void make_slots();
  void hook_up();
  void start_full_buckets();
  void add_squares(const comm::BucketPlan::Bucket& bucket);
  void write_tail();
  void start_sum(const comm::BucketPlan::Bucket& bucket);
  torch::Tensor part(std::size_t begin, std::size_t end) const;
  torch::Tensor shared_part(std::size_t begin, std::size_t end) const;

  std::vector<torch::Tensor> parameters_;
  std::vector<torch::Tensor> slots_;
  comm::BucketPlan plan_;
  comm::Communicator& communicator_;
  SyncOptions options_;
  const Clock& clock_;
  /// options_.scale as a tensor of the host: a kernel of a GPU takes its value along, without
  /// another launch.
  torch::Tensor scale_;
  std::span<float> shared_;  ///< what the communicator sums
  torch::Tensor flat_;       ///< the same memory, unless buckets pass through the host
  bool on_device_ = false;   ///< the host cannot reach into flat_
  bool apart_ = false;       ///< flat_ is other memory than shared_
  PageLock page_lock_;       ///< of shared_, with apart_
  /// With on_device_: the host's tail, page-locked; what the device adds to it; the squares of the
  /// buckets handed over; what comes back.
  torch::Tensor tail_;
  torch::Tensor added_to_tail_;
  torch::Tensor squares_on_device_, summed_squares_on_device_;
  std::optional<Readback> results_;
  double sum_squares_ = 0;

  /// Autograd keeps only weak references to these; without ours the hooks would vanish.
  std::vector<GradientAccumulator> accumulators_;
  std::vector<std::uintptr_t> hook_keys_;

  int micro_steps_ = 1;
  std::vector<std::size_t> arrival_order_;
  std::vector<bool> skipped_;
  bool norm_wanted_ = true;
  std::vector<int> arrivals_;             ///< gradients taken this step, by parameter
  std::vector<std::size_t> bucket_open_;  ///< gradients still awaited, by bucket
  std::size_t next_bucket_ = 0;
  std::vector<Nanoseconds> handed_over_;
  double norm_weight_ = 1;
  double squares_ = 0;  ///< of the buckets handed over
  bool active_ = false;
};

}  // namespace lockstep::train
