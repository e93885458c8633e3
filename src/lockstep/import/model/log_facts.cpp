#include "lockstep/import/model/log_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// Facts are at the beginning of a log; after this many lines only failures are looked for.
constexpr std::uint64_t kFactLines = 50'000;
constexpr std::size_t kLongestFactLine = 16 * 1024;

bool plausible_count(std::optional<std::int64_t> count) {
  return count && *count > 0 && *count < 10'000'000;
}

/// "A,B" -> 2.
std::int64_t list_length(std::string_view list) {
  return 1 + std::count(list.begin(), list.end(), ',');
}

/// The value of an option on a command line: "--batch-size 128", "--batch_size=128". The name must
/// begin after a blank or quote, so that "--val-batch-size" is another option.
std::optional<std::int64_t> option(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    if (at > 0 && text[at - 1] != ' ' && text[at - 1] != '\'' && text[at - 1] != '"') continue;
    std::string_view rest = text.substr(at + name.size());
    if (rest.empty() || (rest[0] != ' ' && rest[0] != '=' && rest[0] != '\'')) continue;
    const std::size_t first = rest.find_first_not_of(" =',");
    if (first == std::string_view::npos) continue;
    rest.remove_prefix(first);
    std::string_view number = rest;
    const auto value = take_number(number);
    if (value && std::abs(*value) < 9e15 && *value == std::floor(*value))
      return static_cast<std::int64_t>(*value);
  }
  return std::nullopt;
}

/// The text between `mark` and the next of `stops`.
std::string_view text_after(std::string_view text, std::string_view mark, std::string_view stops) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + mark.size());
  return trim(text.substr(0, text.find_first_of(stops)));
}

bool looks_like_time(std::string_view text) {
  return text.size() >= 19 && text[4] == '-' && text[7] == '-' && text[13] == ':' &&
         is_digit(text[0]);
}

}  // namespace

void LogFacts::time_of(std::string_view text) {
  if (!text.empty() && text[0] == '[') text.remove_prefix(1);
  if (!looks_like_time(text)) return;
  char* place = first_time_[0] == '\0' ? first_time_ : last_time_;
  const std::size_t count = std::min<std::size_t>(text.size(), sizeof(last_time_) - 1);
  std::memcpy(place, text.data(), count);
  place[count] = '\0';
}

void LogFacts::line(std::string_view text, int rank) {
  time_of(text);
  if (text.size() > kLongestFactLine) return;
  if (++lines_ > kFactLines) {
    failure(text);
    return;
  }
  // "***** Running Evaluation *****": the counts below are not those of training.
  if (contains(text, "***** Running ")) evaluates_ = !contains_any<"train", "Train">(text);
  worker_count(text);
  command_line(text);
  batch_size(text);
  device(text);
  network(text);
  failure(text);
}

void LogFacts::worker_count(std::string_view text) {
  if (!contains_any<"orld", "ORLD", "Number of ", "num_workers_total", "hvd.size()", " out of ",
                    "registered", "MEMBER: ", "Use GPU: ", "Horovod with ">(text))
    return;
  static constexpr std::string_view kMarks[] = {
      "world size",        "World size",     "World Size",         "world_size",
      "WORLD_SIZE",        "Number of GPUs", "Number of devices",  "Number of workers",
      "num_workers_total", "hvd.size()",     "Number of processes"};
  for (std::string_view mark : kMarks) {
    const std::size_t at = text.find(mark);
    if (at == std::string_view::npos) continue;
    // "world_size .............. 64"
    std::string_view rest = text.substr(at + mark.size());
    const std::size_t first = rest.find_first_not_of(" .:='\"");
    if (first == std::string_view::npos) continue;
    rest.remove_prefix(first);
    const auto count = take_number(rest);
    if (!count || !(*count >= 1) || *count > 1e7) continue;
    const auto whole = static_cast<std::int64_t>(*count);
    // With model parallelism DeepSpeed calls the data-parallel degree its world: the largest is the
    // number of processes.
    workers_differ_ = workers_differ_ || (workers_ && *workers_ != whole);
    workers_ = std::max(workers_.value_or(0), whole);
  }
  const std::size_t rank = text.find("rank ");
  if (rank != std::string_view::npos) {
    const auto count = integer_after(text.substr(rank), " out of ");
    if (plausible_count(count)) workers_ = std::max(workers_.value_or(0), *count);
  }
  if (contains(text, "distributed processes registered")) {
    const auto count = integer_after(text, "Starting with");
    if (plausible_count(count)) workers_ = *count;
  }
  const auto horovod = integer_after(text, "Horovod with ");
  if (plausible_count(horovod) && contains(text, " workers")) workers_ = *horovod;
  const std::size_t member = text.find("MEMBER: ");
  if (member != std::string_view::npos) {
    const auto count = integer_after(text.substr(member), "/");
    if (plausible_count(count)) workers_ = *count;
  }
  const auto gpu = integer_after(text, "Use GPU: ");
  if (gpu && contains(text, "for training")) last_gpu_used_ = std::max(last_gpu_used_, *gpu);
}

void LogFacts::command_line(std::string_view text) {
  if (!contains_any<"--n", "--epochs", "mpirun", "mpiexec", "horovodrun", "srun",
                    "CUDA_VISIBLE_DEVICES=">(text))
    return;
  if (contains(text, "mpirun") || contains(text, "mpiexec") || contains(text, "horovodrun")) {
    for (std::string_view name : {"-np", "-n", "--np"}) {
      const auto count = option(text, name);
      if (plausible_count(count)) workers_ = *count;
    }
  }
  if (contains(text, "srun")) {
    for (std::string_view name : {"-n", "--ntasks"}) {
      const auto count = option(text, name);
      if (plausible_count(count)) tasks_ = *count;
    }
  }
  for (std::string_view name : {"--nproc_per_node", "--nproc-per-node", "--num_gpus"}) {
    const auto count = option(text, name);
    if (plausible_count(count)) per_node_ = *count;
  }
  for (std::string_view name : {"--nnodes", "--num_nodes"}) {
    const auto count = option(text, name);
    if (plausible_count(count)) nodes_ = *count;
  }
  const auto epochs = option(text, "--epochs");
  if (plausible_count(epochs)) epochs_ = *epochs;
  const std::string_view devices = text_after(text, "CUDA_VISIBLE_DEVICES=", " ;\"'");
  if (!devices.empty() && is_digit(devices[0])) visible_devices_ = list_length(devices);
}

void LogFacts::set_batch(std::int64_t size, std::optional<std::int64_t>& batch) {
  batches_differ_ = batches_differ_ || (batch && *batch != size);
  batch = size;
}

void LogFacts::batch_size(std::string_view text) {
  if (!contains_any<"batch", "Batch", "-b", "training examples:", "Num examples =",
                    "num_train_examples:", "'n_epochs'">(text))
    return;
  for (std::string_view name : {"--batch-size", "--batch_size", "-b", "--batch"}) {
    if (name == "-b" && !contains(text, ".py")) continue;
    const auto size = option(text, name);
    if (plausible_count(size)) set_batch(*size, batch_);
  }
  for (std::string_view mark : {"'batch_size'", "\"batch_size\"",
                                "batch_size=", "batch_size:", "batch size:", "Batch size:"}) {
    // "global_batch_size=24", "val_batch_size: 8" and the like are other sizes.
    const std::size_t at = text.find(mark);
    if (at == std::string_view::npos ||
        (at > 0 && (text[at - 1] == '_' || is_letter(text[at - 1]))))
      continue;
    const auto size = integer_after(text.substr(at), mark);
    const std::string before = lower(text.substr(0, at));
    const bool whole =
        before.ends_with("global ") || before.ends_with("total ") || before.ends_with("effective ");
    if (plausible_count(size)) set_batch(*size, whole ? global_batch_ : batch_);
  }
  for (std::string_view mark :
       {"Instantaneous batch size per device =", "batch_size_per_gpu:", "batch_size_per_gpu="}) {
    const auto each = integer_after(text, mark);
    if (plausible_count(each)) set_batch(*each, batch_per_worker_);
  }
  const auto whole =
      integer_after(text, "Total train batch size (w. parallel, distributed & accumulation) =");
  if (plausible_count(whole)) set_batch(*whole, global_batch_);
  for (std::string_view mark : {"# training examples:", "Num examples =", "num_train_examples:"}) {
    const auto count = integer_after(text, mark);
    if (plausible_count(count) && !evaluates_) examples_ = *count;
  }
  const auto planned = integer_after(text, "'n_epochs'");
  if (plausible_count(planned)) epochs_ = *planned;
}

void LogFacts::device(std::string_view text) {
  // TensorFlow found a GPU and trains without it.
  if (contains(text, "Skipping registering GPU devices")) device_ = "cpu";
  if (!device_.empty() || !contains(text, "name: ")) return;
  // TensorFlow: "(device: 0, name: Tesla V100-SXM2-16GB, pci bus id: ...", "name: RTX A6000 major:
  // 8".
  if (contains(text, "pci bus") || contains(text, "pciBusID") || contains(text, "major:") ||
      contains(text, "compute capability")) {
    std::string_view name = text_after(text, "name: ", ",");
    const std::size_t stop = std::min(name.find(" major"), name.find(" computeCapability"));
    name = trim(name.substr(0, stop));
    if (!name.empty() && name.size() < 60) device_ = printable(name);
  }
}

void LogFacts::network(std::string_view text) {
  if (!contains_any<"model '", "--arch", "Total params:">(text)) return;
  if (model_.empty()) {
    std::string_view name = text_after(text, "creating model '", "'");
    if (name.empty()) name = text_after(text, "using pre-trained model '", "'");
    if (name.empty()) name = text_after(text, "--arch ", " ");
    if (name.empty()) name = text_after(text, "--arch=", " ");
    if (!name.empty() && name.size() < 60) model_ = printable(name);
  }
  if (text.starts_with("Total params:") || text.starts_with(" Total params:")) {
    const auto count = integer_after(text, "Total params:");
    if (plausible_count(count) || (count && *count > 0)) parameters_ = *count;
  }
}

void LogFacts::failure(std::string_view text) {
  const bool memory = contains_any<"emory", "OOM", "oom", "bad_alloc">(text);
  if (memory && (contains(text, "out of memory") || contains(text, "Out of memory") ||
                 contains(text, "OutOfMemory") || contains(text, "OUT_OF_MEMORY") ||
                 contains(text, "OOM when allocating") || contains(text, "oom-kill") ||
                 contains(text, "oom_kill event") || contains(text, "t allocate memory") ||
                 contains(text, "Cannot allocate memory") || contains(text, "Unable to allocate") ||
                 contains(text, "std::bad_alloc") || text.starts_with("MemoryError"))) {
    // TensorFlow's allocator warns and goes on with less.
    if (contains(text, "ran out of memory trying to allocate") || contains(text, "avoid OOM"))
      return;
    if (!out_of_memory_) failure_ = printable(trim(text), 160);
    out_of_memory_ = true;
  }
}

void LogFacts::offer(ImportedRun& run, int ranks_seen, bool one_of_several) const {
  offer_facts(run, ranks_seen, one_of_several);
  if (out_of_memory_) run.out_of_memory = true;
  if (!failure_.empty() && run.failure.empty()) run.failure = failure_;
}

void LogFacts::offer_facts(ImportedRun& run, int ranks_seen, bool one_of_several) const {
  // What the format itself states is better than what was found around it.
  const bool told = run.workers && run.workers.from <= Provenance::kLog;
  if (!told && !(one_of_several && workers_differ_)) {
    if (workers_) {
      run.workers.offer(std::max<std::int64_t>(*workers_, ranks_seen));
    } else if (ranks_seen > 1) {
      run.workers.offer(ranks_seen);
    } else if (per_node_) {
      run.workers.offer(*per_node_ * nodes_.value_or(1));
    } else if (tasks_ && !run.workers) {
      run.workers.offer(*tasks_);
    } else if (last_gpu_used_ >= 0) {
      run.workers.offer(last_gpu_used_ + 1);
    } else if (visible_devices_) {
      run.workers.offer(*visible_devices_);
    }
  }
  if (nodes_ && !run.nodes) run.nodes.offer(*nodes_);
  const bool batch_told = run.batch_per_worker || run.global_batch || run.batch_said;
  if (!(batches_differ_ && (one_of_several || batch_told))) {
    if (batch_per_worker_ && !run.batch_per_worker) run.batch_per_worker.offer(*batch_per_worker_);
    if (global_batch_ && !run.global_batch) run.global_batch.offer(*global_batch_);
    if (batch_ && !run.batch_said) run.batch_said = *batch_;
  }
  if (epochs_ && !run.epochs_planned) run.epochs_planned.offer(*epochs_);
  if (examples_ && !run.examples) run.examples.offer(*examples_);
  if (parameters_ && !run.parameters) run.parameters.offer(*parameters_);
  if (!device_.empty() && !run.device) run.device.offer(device_);
  if (!model_.empty() && !run.model) run.model.offer(model_);
  const auto first = parse_wall_time(first_time_);
  const auto last = parse_wall_time(last_time_);
  if (first && !run.started_wall_ns) run.started_wall_ns = first;
  if (last && !run.ended_wall_ns) run.ended_wall_ns = last;
}

}  // namespace lockstep::import
