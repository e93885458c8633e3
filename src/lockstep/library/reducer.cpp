#include "lockstep/library/reducer.h"

#include <fmt/format.h>
#include <torch/csrc/autograd/engine.h>

#include <algorithm>

#include "lockstep/base/error.h"
#include "lockstep/train/sync/flat_parameters.h"

namespace lockstep::library {
namespace {

/// Norms for the record: on the first steps, then on every so-many-th, as the watcher of Python
/// scripts takes them.
constexpr std::int64_t kFirstNorms = 24;
constexpr std::int64_t kNormEvery = 8;

record::Wire wire_of(Wire wire) {
  switch (wire) {
    case Wire::kFloat16:
      return record::Wire::kHalf;
    case Wire::kBFloat16:
      return record::Wire::kBrain;
    default:
      return record::Wire::kFloat;
  }
}

/// Counts of passes are compared by what is left of them after division by this: a program that
/// runs two forwards for each backward may go on indefinitely, and sums of squares of larger
/// numbers are not exact in 32-bit floats.
constexpr int kPassesModulo = 64;

/// The plan of parameters whose gradients arrive in this order.
comm::BucketPlan plan_in_order(std::span<const std::size_t> order,
                               std::span<const std::int64_t> sizes, Bytes bucket,
                               std::size_t tail) {
  // plan_buckets() takes sizes in order of use, the last to be used first to arrive.
  std::vector<std::int64_t> in_use;
  for (std::size_t k = order.size(); k-- > 0;) in_use.push_back(sizes[order[k]]);
  const auto parameter = [&](std::size_t k) { return order[order.size() - 1 - k]; };
  const comm::BucketPlan planned = comm::plan_buckets(in_use, bucket, tail);
  comm::BucketPlan plan = planned;
  for (std::size_t k = 0; k < order.size(); ++k) {
    plan.offset_of[parameter(k)] = planned.offset_of[k];
    plan.bucket_of[parameter(k)] = planned.bucket_of[k];
  }
  for (auto& one : plan.buckets) {
    for (std::size_t& k : one.parameters) k = parameter(k);
  }
  return plan;
}

}  // namespace

Reducer::Reducer(std::shared_ptr<torch::nn::Module> module, const Job& job,
                 DataParallelOptions options)
    : module_(std::move(module)),
      job_(job),
      state_(job.state()),
      options_(std::move(options)),
      communicator_(state_.new_communicator()) {
  collect_parameters();
  state_.collective([&] {
    require_same_tensors(tensors_, options_.name, communicator_);
    std::vector<torch::Tensor> values;
    for (const ModuleTensor& entry : tensors_) values.push_back(entry.tensor);
    broadcast_values(values, 0, communicator_);
    const auto watching = communicator_.gather_all(state_.watch().on() ? 1 : 0);
    watched_ = std::count(watching.begin(), watching.end(), 0) == 0;
    set_up_sync();
  });
}

/// Gradients are views of memory that goes with the job; parameters may be used after it.
Reducer::~Reducer() {
  for (std::size_t i = 0; sync_ && i < parameters_.size(); ++i) {
    auto& grad = parameters_[i].mutable_grad();
    if (grad.defined() && grad.data_ptr() == sync_->slot(i).data_ptr()) grad = grad.clone();
  }
}

void Reducer::collect_parameters() {
  tensors_ = tensors_of(*module_);
  std::int64_t count = 0;
  for (const ModuleTensor& entry : tensors_) {
    if (!entry.parameter) {
      buffers_.push_back(entry.tensor);
      continue;
    }
    all_parameters_.push_back(entry.tensor);
    trained_.push_back(entry.tensor.requires_grad());
    if (!entry.tensor.requires_grad()) continue;
    if (entry.tensor.scalar_type() != torch::kFloat ||
        !entry.tensor.is_non_overlapping_and_dense()) {
      refuse(fmt::format("{} of {} is not a dense 32-bit float tensor", entry.name, options_.name),
             "convert the module with .to(torch::kFloat), or freeze the parameter");
    }
    if (!parameters_.empty() && entry.tensor.device() != parameters_[0].device()) {
      refuse(fmt::format("{} of {} is on another device than {}", entry.name, options_.name,
                         names_[0]),
             "one rank drives one device");
    }
    parameters_.push_back(entry.tensor);
    names_.push_back(entry.name);
    count += entry.tensor.numel();
  }
  if (parameters_.empty()) {
    refuse(fmt::format("{} has no parameter to train", options_.name),
           "call the module directly, without DataParallel");
  }
  device_ = parameters_[0].device();
  state_.collective(
      [&] { require_own_device(device_, state_.device(), options_.name, communicator_); });
  state_.watch().describe(count, device_, communicator_.backend());
  if (!options_.broadcast_buffers) buffers_.clear();
}

void Reducer::set_up_sync() {
  const std::size_t tail = kFlags + parameters_.size() + floats_for(buffers_);
  plan_ = comm::plan_buckets(train::element_counts(parameters_),
                             Bytes{static_cast<std::uint64_t>(options_.bucket_bytes)}, tail);
  train::SyncOptions sync;
  sync.wire = wire_of(options_.wire);
  sync.views = true;
  sync.scale = 1.0 / communicator_.size();
  if (options_.noise_scale || watched_) sync.norm_slot = kNorm;
  sync.fill_tail = [this](std::span<float> floats) { fill_tail(floats); };
  if (buffers_on_device()) {
    sync.fill_tail_on_device = [this](const torch::Tensor& floats) {
      if (sends_buffers()) encode_bytes(buffers_, buffer_part(floats));
    };
  }
  sync.on_backward = [this] {
    torch::autograd::Engine::get_default_engine().queue_callback([this] { backward_done(); });
  };
  sync.on_stray = [this] { return begin_stray_step(); };
  sync.before_sum = options_.before_sum;
  sync_.emplace(parameters_, plan_, communicator_, sync, state_.clock());
}

void Reducer::refuse(const std::string& message, const std::string& hint) const {
  state_.fail(Error(ErrorKind::kUsage, message, hint));
}

void Reducer::before_forward(std::int64_t examples) {
  if (!torch::GradMode::is_enabled()) return;
  check_parameters();
  examples_ += examples;
  state_.watch().before_forward(examples);
  if (paused_ > 0) {
    ++paused_passes_;
    return;
  }
  paused_passes_ = 0;
  ++passes_;
  if (joining_) {
    const auto active = state_.collective([&] { return communicator_.gather_all(passes_); });
    for (std::size_t r = 0; r < active.size(); ++r) {
      if (active[r] > 0) last_active_ = static_cast<int>(r);
    }
  }
  if (steps_ > 0 && !rebuilt_ && !sync_->active()) rebuild_buckets();
  if (!sync_->active()) begin_step();
}

void Reducer::after_forward() {
  if (torch::GradMode::is_enabled()) state_.watch().after_forward();
}

/// Replaced parameters would be trained on this rank alone, and nobody would notice.
void Reducer::check_parameters() const {
  std::size_t at = 0;
  const auto now = module_->parameters();
  for (const torch::Tensor& parameter : now) {
    // Shared parameters are listed more than once by the module.
    const auto same = [&](const torch::Tensor& known) {
      return known.unsafeGetTensorImpl() == parameter.unsafeGetTensorImpl();
    };
    std::size_t found = at;
    if (at >= all_parameters_.size() || !same(all_parameters_[at])) {
      found = static_cast<std::size_t>(
          std::find_if(all_parameters_.begin(), all_parameters_.end(), same) -
          all_parameters_.begin());
    } else {
      ++at;
    }
    if (found == all_parameters_.size()) {
      refuse(fmt::format("a parameter of {} was replaced after it was wrapped", options_.name),
             "copy values into the parameters instead, or wrap the module afterwards");
    }
    if (parameter.requires_grad() && !trained_[found]) {
      refuse(fmt::format("a parameter of {} was frozen when the module was wrapped and is trained "
                         "now",
                         options_.name),
             "wrap the module again after changing requires_grad");
    }
    if (trained_[found] &&
        (parameter.scalar_type() != torch::kFloat || parameter.device() != device_)) {
      refuse(fmt::format("{} was moved or converted after it was wrapped", options_.name),
             "call module->to(...) before DataParallel");
    }
  }
}

void Reducer::begin_step() {
  sync_->begin_step();
  const bool norms = wants_norms();
  sync_->measure_norm(norms);
  if (!unused_.empty()) sync_->skip(unused_);
}

/// A gradient outside of a step: of a pass that stays on this rank, of the second backward after
/// two forwards, or by mistake.
bool Reducer::begin_stray_step() {
  if (paused_ > 0 || paused_passes_ > 0) return false;
  if (passes_ > 0) {
    const bool norms = wants_norms();
    sync_->measure_norm(norms);
    return true;
  }
  refuse(fmt::format("backward reached {} a second time, or without a forward through DataParallel",
                     options_.name),
         "call the wrapper once for each backward; for gradients of this rank alone use no_sync()");
}

void Reducer::rebuild_buckets() {
  rebuilt_ = true;
  std::vector<std::uint64_t> order;
  for (const std::size_t parameter : sync_->arrival_order()) order.push_back(parameter);
  for (std::size_t i = parameters_.size(); i-- > 0;) {
    if (!sync_->arrived(i)) order.push_back(i);
  }
  state_.collective([&] { communicator_.broadcast(std::as_writable_bytes(std::span(order)), 0); });
  const std::vector<std::size_t> arrival(order.begin(), order.end());
  plan_ = plan_in_order(arrival, train::element_counts(parameters_),
                        Bytes{static_cast<std::uint64_t>(options_.bucket_bytes)},
                        kFlags + parameters_.size() + floats_for(buffers_));
  sync_->relayout(plan_);
}

void Reducer::fill_tail(std::span<float> tail) {
  const auto passes = static_cast<float>(passes_ % kPassesModulo);
  const auto examples = static_cast<float>(examples_);
  tail[kPasses] = passes;
  tail[kPassesSquared] = passes * passes;
  tail[kExamples] = examples;
  tail[kExamplesSquared] = examples * examples;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    tail[kFlags + i] = sync_->arrived(i) ? 1.0F : 0.0F;
  }
  if (sends_buffers() && !buffers_on_device()) {
    encode_bytes(buffers_, tail.subspan(kFlags + parameters_.size()));
  }
}

/// Autograd calls it when a backward pass is over.
void Reducer::backward_done() {
  // A record waits here for a GPU: its last sums are queued before that.
  if (!device_.is_cpu()) state_.collective([&] { sync_->hand_over_rest(); });
  state_.watch().backward_done();
  state_.collective([&] { sync_->finish(/*sum_squares=*/wants_norms()); });
  read_tail();
  state_.watch().sums_done();
  if (wants_norms()) measure_noise();
  if (options_.static_graph && steps_ == 0) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (sync_->tail()[kFlags + i] == 0) unused_.push_back(i);
    }
  }
  ++steps_;
  --passes_;
  examples_ = 0;
}

void Reducer::read_tail() {
  const std::span<float> tail = sync_->tail();
  require_equal_passes(tail[kPasses], tail[kPassesSquared]);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    auto& grad = parameters_[i].mutable_grad();
    if (!grad.defined() && tail[kFlags + i] > 0) grad = sync_->slot(i);
  }
  if (communicator_.rank() == buffer_source()) return;
  if (buffers_on_device()) {
    decode_bytes(buffer_part(sync_->tail_on_device()), buffers_);
  } else {
    decode_bytes(tail.subspan(kFlags + parameters_.size()), buffers_);
  }
}

bool Reducer::sends_buffers() const {
  return communicator_.rank() == buffer_source() && communicator_.size() > 1;
}

/// A program may keep some buffers on the host.
bool Reducer::buffers_on_device() const {
  return !device_.is_cpu() && std::all_of(buffers_.begin(), buffers_.end(),
                                          [&](const auto& one) { return one.device() == device_; });
}

torch::Tensor Reducer::buffer_part(const torch::Tensor& tail) const {
  return tail.narrow(0, static_cast<std::int64_t>(kFlags + parameters_.size()),
                     static_cast<std::int64_t>(floats_for(buffers_)));
}

/// Sums are matched by their order: a rank that left out a backward would add another step's.
void Reducer::require_equal_passes(double sum, double squares) {
  const double ranks = communicator_.size();
  const double mine = passes_ % kPassesModulo;
  if (sum == ranks * mine && squares == ranks * mine * mine) return;
  const auto passes = state_.collective([&] { return communicator_.gather_all(passes_); });
  std::string list;
  for (std::size_t r = 0; r < passes.size(); ++r) {
    list += fmt::format("{}rank {}: {}", r == 0 ? "" : ", ", r, passes[r]);
  }
  refuse(fmt::format("ranks are at different steps of {}: forward passes without backward so far: "
                     "{}",
                     options_.name, list),
         "every rank must run backward for the same forward passes; evaluate under "
         "torch::NoGradGuard, and use join() if ranks have unequal numbers of batches");
}

bool Reducer::wants_norms() const {
  if (communicator_.size() == 1) return false;
  return options_.noise_scale || (watched_ && (steps_ < kFirstNorms || steps_ % kNormEvery == 0));
}

void Reducer::measure_noise() {
  const std::span<float> tail = sync_->tail();
  const double ranks = communicator_.size();
  const auto mine = static_cast<float>(examples_);
  // An average over unequal batches is not the gradient of their union.
  const bool even = examples_ > 0 && tail[kExamples] == mine * static_cast<float>(ranks) &&
                    tail[kExamplesSquared] == mine * mine * static_cast<float>(ranks);
  if (!even) return;
  // Each rank's gradient was divided by the number of ranks before its norm was taken.
  const double own = ranks * static_cast<double>(tail[kNorm]);
  const double averaged = sync_->sum_squares();
  const auto examples = static_cast<double>(examples_);
  noise_.add(own, examples, averaged, ranks * examples);
  if (watched_) state_.watch().norms(own, averaged, examples_);
}

std::optional<NoiseEstimate> Reducer::noise_scale() const {
  const auto estimate = noise_.estimate();
  if (!estimate) return std::nullopt;
  return NoiseEstimate{estimate->value, estimate->low, estimate->high};
}

void Reducer::broadcast_buffers() {
  std::vector<torch::Tensor> buffers;
  for (const ModuleTensor& entry : tensors_) {
    if (!entry.parameter) buffers.push_back(entry.tensor);
  }
  state_.collective([&] { broadcast_values(buffers, 0, communicator_); });
}

/// Takes part in the sums of the ranks that still have batches, with zeros; then all ranks get the
/// state of a rank that trained to the end.
void Reducer::finish_join() {
  while (true) {
    const auto active = state_.collective([&] { return communicator_.gather_all(0); });
    const auto passes = *std::max_element(active.begin(), active.end());
    if (passes == 0) break;
    for (std::size_t r = 0; r < active.size(); ++r) {
      if (active[r] > 0) last_active_ = static_cast<int>(r);
    }
    if (steps_ > 0 && !rebuilt_) rebuild_buckets();
    for (torch::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
    passes_ = passes;
    begin_step();
    backward_done();
  }
  joining_ = false;
  std::vector<torch::Tensor> values;
  for (const ModuleTensor& entry : tensors_) values.push_back(entry.tensor);
  state_.collective([&] { broadcast_values(values, last_active_, communicator_); });
}

}  // namespace lockstep::library
