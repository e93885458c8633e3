#include "train_options.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "lockstep/base/error.h"
#include "lockstep/base/units.h"

namespace lockstep::cli {
namespace {

/// Values an option accepts. A default outside of it means "not given", for example a learning rate
/// of 0 for the recipe's own.
template <class T>
struct Range {
  T least;
  T most;
  bool holds(T value) const { return least <= value && value <= most; }
};

/// Options that only some recipes take; the worker refuses those that its recipe does not know.
template <class Visitor, class Options>
void visit_recipe_options(Visitor& visit, Options& options) {
  visit.group("Recipes with images: transfer, steering, gan, script");
  visit.flag("--strict", options.strict, true,
             "An image that cannot be used is an error (default: skipped and named)");
  visit.real("--validation", options.validation, {0, 0.99},
             "Part held back where there is no val/ folder (default 0.2)");
  visit.text("--image-size", options.image_size, "SIZE",
             "Size images are brought to, as 224 or 66x200 (default: the recipe's)");
  visit.text("--classes", options.classes, "auto|N",
             "transfer, script: classes are the folders; N: there must be N (default auto)");
  visit.real("--rotate", options.rotate, {0, 180}, "Rotate by up to X degrees to either side");
  visit.real("--zoom", options.zoom, {0, 0.95}, "Enlarge by a factor from 1-X to 1+X");
  visit.real("--shift-x", options.shift_x, {0, 1}, "Move by up to X of the width");
  visit.real("--shift-y", options.shift_y, {0, 1}, "Move by up to X of the height");
  visit.real("--flip", options.flip, {0, 1}, "Mirror left and right with probability X");

  visit.group("Recipe transfer");
  visit.text("--backbone", options.backbone, "FILE",
             "Weights: a state file or TorchScript module as torchvision writes them, or a "
             "checkpoint; mobilenet_v2 or vgg16 to train one from nothing");
  visit.flag("--fine-tune", options.fine_tune, true, "Train the backbone too, at a lower rate");
  visit.real("--backbone-rate", options.backbone_rate, {1e-9, 1},
             "With --fine-tune: rate of the backbone as a part of the head's (default 0.1)");

  visit.group("Recipes gan and script");
  visit.text("--samples", options.samples, "DIR", "gan: a sheet of samples after each epoch");
  visit.text("--model", options.model, "FILE", "script: the TorchScript module to train");
  visit.choice("--loss", options.loss, {"cross_entropy", "mse"},
                       "script: what to minimise (default cross_entropy)");
  visit.text("--save", options.save, "FILE",
             "script: the trained module, written after each epoch (default: none)");
}

/// Every option, once; a visitor either adds it to a parser or writes it as an argument.
template <class Visitor, class Request>
void visit_options(Visitor& visit, Request& request) {
  auto& spec = request.spec;
  visit.recipe(spec.recipe);

  visit.group("Training");
  visit.integer("-b,--batch", spec.batch_per_worker, {1, 1 << 24},
                "Examples per worker and step, b (default: the recipe's, mostly 128)");
  visit.integer("-e,--epochs", spec.epochs, {1, 1'000'000}, "Passes over the training set");
  visit.integer("--steps", spec.max_steps, {1, std::int64_t{1} << 40},
                "Stop after that many steps in all");
  visit.data("--data", spec.data,
             "Folder of the data set, or 'synthetic' for made-up data of the same shape");
  visit.integer("--accumulate", spec.accumulate, {1, 1 << 20},
                "Micro-batches a worker adds up before each step, A; B = N b A");
  visit.integer("--seed", spec.seed, {0, std::numeric_limits<std::uint64_t>::max()},
                "Decides initial parameters, order of examples and augmentation");
  visit.flag("--no-augment", spec.augment, false, "Do not augment training images");
  visit.flag("--no-validation", request.validate, false, "Do not evaluate after each epoch");
  visit.flag("--keep-going", request.keep_going, true, "Go on after a loss that is not finite");

  visit.group("Optimizer");
  visit.choice("--optimizer", spec.optimizer, {"sgd", "adam", "adamw", "lars", "lamb"},
               "What moves the parameters (default: the recipe's)");
  visit.real("--lr", spec.learning_rate, {1e-12, 1e6},
             "Learning rate (default: the recipe's, or one that suits the optimizer)");
  visit.real("--momentum", spec.momentum, {0, 0.999999},
             "Momentum of sgd and lars (default: the recipe's)");
  visit.pair("--betas", spec.beta1, spec.beta2, {0, 0.999999},
             "Decay of the moments of adam, adamw and lamb (default: the recipe's)");
  visit.real("--weight-decay", spec.weight_decay, {0, 1000},
             "Weight decay (default: the recipe's)");
  visit.choice("--schedule", spec.schedule, {"constant", "linear", "step", "cosine", "plateau"},
               "Learning rate over the run (default: the recipe's)");
  visit.real("--warmup-epochs", spec.warmup_epochs, {0, 1e6},
             "Epochs over which the rate rises from zero (default: the recipe's)");
  visit.integers("--lr-steps", spec.lr_steps, {1, 1'000'000},
                 "Epochs after which --schedule step lowers the rate, for example 30,60");
  visit.real("--lr-gamma", spec.lr_gamma, {1e-6, 1},
             "What --schedule step and plateau multiply the rate by");
  visit.integer("--patience", spec.patience, {0, 1'000'000},
                "Epochs without a lower validation loss that --schedule plateau waits");
  visit.choice("--lr-scale", spec.lr_scale, {"none", "linear", "sqrt"},
               "Multiply the rate by B / base batch, or by its root");
  visit.integer("--base-batch", spec.base_batch, {1, std::int64_t{1} << 40},
                "Global batch the rate is meant for (default: the recipe's)");

  visit.group("Workers");
  visit.integer("-n,--workers", spec.workers, {1, 65'536},
                "Worker processes (default: one for each core)");
  visit.integer("--threads", spec.threads_per_worker, {1, 4096},
                "Compute threads per worker (default: cores / workers)");
  visit.integer("--loader-threads", request.loader_threads, {0, 256},
                "Prefetch threads per worker; 0 loads on the training thread");
  visit.flag("--oversubscribe", spec.oversubscribed, true,
             "Allow more threads than cores; timings are then marked unreliable");
  visit.choice("--strategy", spec.strategy, {"overlap", "blocking", "central", "local"},
               "Sum gradients while backward runs or after it, gather them on rank 0, or train "
               "apart and average weights");
  visit.integer("--every", spec.average_every, {1, std::int64_t{1} << 40},
                "Steps between averages of --strategy local (default: an epoch)");
  visit.choice("--wire", spec.wire, {"fp32", "fp16", "bf16"}, "Form in which gradients travel");
  visit.flag("--sync-bn", spec.sync_batch_norm, true,
             "Batch norms over the global batch instead of each worker's own");
  visit.choice("--backend", spec.backend, {"auto", "shm", "tcp", "hierarchical", "gloo", "mpi", "nccl"},
               "How workers exchange gradients");
  visit.choice("--device", spec.device, {"cpu", "cuda"},
               "Where to compute; with cuda each worker of a host takes the next GPU");
  visit.flag("--amp", spec.amp, true, "Forward and backward in 16 bits where that is safe (cuda)");
  visit.size("--bucket", spec.bucket_bytes, "Size of a gradient bucket (default: the engine's)");
  visit.size("--memory", request.memory_bytes,
             "Most memory the workers of a host may use together; one over its share fails alone");
  visit.real("--timeout", request.timeout_s, {0.1, 1e6}, "Longest wait for another rank, seconds");
  visit.real("--heartbeat", request.heartbeat_s, {1, 1e6},
             "A worker that was not heard of for that many seconds has hung");
  visit.text("--interface", request.interface, "NAME|ADDRESS",
             "Network for gradients between hosts (default: the way to rank 0)");

  visit.group("Files");
  visit.text("--checkpoint", request.checkpoint_dir, "DIR", "Write checkpoints into DIR");
  visit.integer("--checkpoint-every", request.checkpoint_every, {1, std::int64_t{1} << 40},
                "Steps between checkpoints, besides one after each epoch");
  visit.flag("--resume", request.resume, true, "Go on from the newest checkpoint in that folder");
  visit.text("--trace", request.trace_path, "FILE", "Write a Chrome/Perfetto trace of all ranks");
  visit.flag("--no-step-records", request.record_steps, false,
             "Do not keep the times of each step");
  visit.flag("--check-ranks", request.check_ranks, true,
             "Compare the parameters of all ranks after every step");

  visit_recipe_options(visit, spec.options);
}

/// The last of "-n,--workers": the name that messages and arguments use.
std::string long_name(const std::string& names) {
  return names.substr(names.rfind("--"));
}

template <class T>
std::string number_text(T value) {
  return fmt::format("{}", value);
}

template <class T>
T parse_number(const std::string& name, const std::string& text, const Range<T>& range) {
  T value{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  // A negative number is understood well enough to say what is wrong with it.
  const bool negative = std::is_unsigned_v<T> && text.starts_with('-');
  if (result.ec == std::errc::result_out_of_range || negative) {
    throw Error(ErrorKind::kUsage, fmt::format("{} {} is out of range", name, text),
                fmt::format("give a number from {} to {}", range.least, range.most));
  }
  if (result.ec != std::errc{} || result.ptr != end) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{} '{}' is not a {}", name, text,
                            std::is_integral_v<T> ? "whole number" : "number"),
                fmt::format("give a number, for example {} {}", name, range.least));
  }
  if (range.holds(value)) return value;
  std::string problem = fmt::format("{} {} is not a number", name, text);
  if (value < range.least) problem = fmt::format("{} {} is below {}", name, text, range.least);
  if (value > range.most) problem = fmt::format("{} {} is above {}", name, text, range.most);
  throw Error(ErrorKind::kUsage, problem,
              fmt::format("give a number from {} to {}", range.least, range.most));
}

/// The parts between commas.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t at = 0;
  for (std::size_t comma; (comma = text.find(',', at)) != std::string::npos; at = comma + 1) {
    parts.push_back(text.substr(at, comma - at));
  }
  parts.push_back(text.substr(at));
  return parts;
}

/// Adds each option to a parser.
class Binder {
 public:
  explicit Binder(CLI::App& command) : command_(command) {}

  void group(const std::string& title) { group_ = title; }

  void recipe(std::string& field) {
    command_
        .add_option("RECIPE", field,
                    "What to train: fashion, cifar-resnet18, gan, transfer, steering, script")
        ->capture_default_str();
  }

  template <class T>
  void integer(const std::string& names, T& field, std::type_identity_t<Range<T>> range,
               const std::string& description) {
    number(names, field, range, "N", description);
  }

  void real(const std::string& names, double& field, Range<double> range,
            const std::string& description) {
    number(names, field, range, "X", description);
  }

  void text(const std::string& names, std::string& field, const std::string& type,
            const std::string& description) {
    add(names, type, description, field,
        [&field, name = long_name(names)](const std::string& given) {
          if (given.empty()) throw Error(ErrorKind::kUsage, name + " is empty", "give it a value");
          field = given;
        });
  }

  void data(const std::string& names, record::DataFacts& field, const std::string& description) {
    add(names, "DIR|synthetic", description, field.path,
        [&field, name = long_name(names)](const std::string& given) {
          if (given.empty()) throw Error(ErrorKind::kUsage, name + " is empty", "name a folder");
          field.path = given;
          field.synthetic = given == "synthetic";
        });
  }

  void choice(const std::string& names, std::string& field, const std::vector<std::string>& choices,
              const std::string& description) {
    add(names, fmt::format("{}", fmt::join(choices, "|")), description, field,
        [&field, choices, name = long_name(names)](const std::string& given) {
          if (std::find(choices.begin(), choices.end(), given) == choices.end()) {
            throw Error(ErrorKind::kUsage, fmt::format("{} '{}' is unknown", name, given),
                        fmt::format("give one of {}", fmt::join(choices, ", ")));
          }
          field = given;
        });
  }

  void pair(const std::string& names, double& first, double& second, Range<double> range,
            const std::string& description) {
    add(names, "X,X", description, "",
        [&first, &second, range, name = long_name(names)](const std::string& given) {
          const auto parts = split(given);
          if (parts.size() != 2) {
            throw Error(ErrorKind::kUsage, fmt::format("{} '{}' is not two numbers", name, given),
                        fmt::format("for example {} 0.9,0.999", name));
          }
          first = parse_number(name, parts[0], range);
          second = parse_number(name, parts[1], range);
        });
  }

  void integers(const std::string& names, std::vector<int>& field, Range<int> range,
                const std::string& description) {
    add(names, "N,N,...", description, "",
        [&field, range, name = long_name(names)](const std::string& given) {
          field.clear();
          for (const std::string& part : split(given)) {
            field.push_back(parse_number(name, part, range));
          }
        });
  }

  void size(const std::string& names, std::uint64_t& field, const std::string& description) {
    add(names, "SIZE", description, "",
        [&field, name = long_name(names)](const std::string& given) {
          field = parse_bytes(given, name).count;
          if (field == 0) {
            throw Error(ErrorKind::kUsage, fmt::format("{} {} must be larger than 0", name, given),
                        fmt::format("for example {} 4MB", name));
          }
        });
  }

  void flag(const std::string& names, bool& field, bool when_given,
            const std::string& description) {
    command_
        .add_flag_callback(
            names, [&field, when_given] { field = when_given; }, description)
        ->group(group_);
  }

 private:
  template <class T>
  void number(const std::string& names, T& field, Range<T> range, const std::string& type,
              const std::string& description) {
    add(names, type, description, range.holds(field) ? number_text(field) : "",
        [&field, range, name = long_name(names)](const std::string& given) {
          field = parse_number(name, given, range);
        });
  }

  void add(const std::string& names, const std::string& type, const std::string& description,
           const std::string& shown_default, const std::function<void(const std::string&)>& take) {
    CLI::Option* option = command_.add_option_function<std::string>(names, take, description);
    option->type_name(type)->group(group_);
    if (!shown_default.empty()) option->default_str(shown_default);
  }

  CLI::App& command_;
  std::string group_ = "Options";
};

/// Writes each option that is set as "--name=value", a form that takes values of any look.
class Writer {
 public:
  std::vector<std::string> take() { return std::move(arguments_); }

  void group(const std::string&) {}
  void recipe(const std::string& field) { arguments_.push_back(field); }

  template <class T>
  void integer(const std::string& names, const T& field, std::type_identity_t<Range<T>> range,
               const std::string&) {
    if (range.holds(field)) put(names, number_text(field));
  }
  void real(const std::string& names, double field, Range<double> range, const std::string&) {
    if (range.holds(field)) put(names, number_text(field));
  }
  void text(const std::string& names, const std::string& field, const std::string&,
            const std::string&) {
    if (!field.empty()) put(names, field);
  }
  void data(const std::string& names, const record::DataFacts& field, const std::string&) {
    if (!field.path.empty()) put(names, field.path);
  }
  void choice(const std::string& names, const std::string& field, const std::vector<std::string>&,
              const std::string&) {
    if (!field.empty()) put(names, field);
  }
  void pair(const std::string& names, double first, double second, Range<double> range,
            const std::string&) {
    if (range.holds(first)) put(names, fmt::format("{},{}", first, second));
  }
  void integers(const std::string& names, const std::vector<int>& field, Range<int>,
                const std::string&) {
    if (!field.empty()) put(names, fmt::format("{}", fmt::join(field, ",")));
  }
  void size(const std::string& names, std::uint64_t field, const std::string&) {
    if (field > 0) put(names, number_text(field));
  }
  void flag(const std::string& names, bool field, bool when_given, const std::string&) {
    if (field == when_given) arguments_.push_back(long_name(names));
  }

 private:
  void put(const std::string& names, const std::string& value) {
    arguments_.push_back(long_name(names) + "=" + value);
  }

  std::vector<std::string> arguments_;
};

[[noreturn]] void refuse(const std::string& problem, const std::string& hint) {
  throw Error(ErrorKind::kUsage, problem, hint);
}

void check_optimizer(const record::TrainRequest& request) {
  const auto& spec = request.spec;
  const bool adam = spec.optimizer.starts_with("adam") || spec.optimizer == "lamb";
  if (spec.beta1 >= 0 && !spec.optimizer.empty() && !adam) {
    refuse(fmt::format("--betas means nothing to --optimizer {}", spec.optimizer),
           "use it with adam, adamw or lamb");
  }
  if (spec.momentum >= 0 && adam) {
    refuse(fmt::format("--momentum means nothing to --optimizer {}", spec.optimizer),
           "give --betas instead");
  }
  if (spec.schedule == "step" && spec.lr_steps.empty()) {
    refuse("--schedule step does not say when", "add --lr-steps, for example --lr-steps 30,60");
  }
  if (!spec.lr_steps.empty() && spec.schedule != "step") {
    refuse("--lr-steps needs --schedule step", "add --schedule step");
  }
  for (std::size_t i = 1; i < spec.lr_steps.size(); ++i) {
    if (spec.lr_steps[i] > spec.lr_steps[i - 1]) continue;
    refuse(fmt::format("--lr-steps {} is not in rising order", fmt::join(spec.lr_steps, ",")),
           "name each epoch once, first ones first");
  }
  if (spec.schedule == "plateau" && !request.validate) {
    refuse("--schedule plateau needs the validation loss", "drop --no-validation");
  }
  if (spec.base_batch > 0 && spec.lr_scale == "none") {
    refuse("--base-batch means nothing without --lr-scale", "add --lr-scale linear or sqrt");
  }
}

void check_exchange(const record::RunSpec& spec) {
  if (spec.average_every > 0 && spec.strategy != "local") {
    refuse("--every needs --strategy local", "add --strategy local");
  }
  if (spec.strategy == "local" && spec.wire != "fp32") {
    refuse(fmt::format("--wire {} with --strategy local: no gradients travel there", spec.wire),
           "drop --wire");
  }
  if (spec.strategy == "local" && spec.sync_batch_norm) {
    refuse("--sync-bn with --strategy local, where workers train apart", "drop one of them");
  }
  if (spec.strategy == "central" && spec.wire != "fp32") {
    refuse(fmt::format("--wire {} with --strategy central", spec.wire),
           "it sends what DataParallel sends: use overlap or blocking");
  }
  if (spec.device != "cuda" && spec.backend == "nccl") {
    refuse("--backend nccl serves GPUs only", "add --device cuda, or use another --backend");
  }
  if (spec.device == "cuda" && spec.backend == "shm") {
    refuse("--backend shm serves workers on CPUs", "use --backend nccl or gloo");
  }
  if (spec.amp && spec.device != "cuda") {
    refuse("--amp needs --device cuda", "drop --amp; CPUs train in 32 bits");
  }
}

}  // namespace

void add_train_options(CLI::App& command, record::TrainRequest& request) {
  Binder binder(command);
  visit_options(binder, request);
}

void check_train_request(const record::TrainRequest& request) {
  if (request.resume && request.checkpoint_dir.empty()) {
    throw Error(ErrorKind::kUsage, "--resume needs the folder of the checkpoints",
                "add --checkpoint DIR");
  }
  if (request.checkpoint_every > 0 && request.checkpoint_dir.empty()) {
    throw Error(ErrorKind::kUsage, "--checkpoint-every needs a folder for the checkpoints",
                "add --checkpoint DIR");
  }
  if (request.checkpoint_every > 0 && request.spec.strategy == "local") {
    throw Error(ErrorKind::kUsage, "--checkpoint-every with --strategy local, where workers differ",
                "drop it: there is a checkpoint after each epoch");
  }
  check_optimizer(request);
  check_exchange(request.spec);
}

std::vector<std::string> train_arguments(const record::TrainRequest& request) {
  Writer writer;
  visit_options(writer, request);
  return writer.take();
}

}  // namespace lockstep::cli
