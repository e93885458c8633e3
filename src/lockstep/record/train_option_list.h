#pragma once

#include <cstdint>
#include <limits>

#include "lockstep/record/choices.h"

namespace lockstep::record {

/// Values an option accepts. A default outside of it means "not given", for example a learning rate
/// of 0 for the recipe's own.
template <class T>
struct Range {
  T least;
  T most;
  bool holds(T value) const { return least <= value && value <= most; }
};

/// Options of some recipes only; the worker refuses those that its recipe does not use.
template <class Visitor, class Options>
void visit_recipe_options(Visitor& visit, Options& options) {
  visit.group("Recipes with images: transfer, steering, gan, script");
  visit.flag("--strict", options.strict, true,
             "Fail on an unusable image (default: skip it with a warning)");
  visit.real("--validation", options.validation, {0, 0.99},
             "Fraction held out for validation if there is no val/ folder (default 0.2)");
  visit.text("--image-size", options.image_size, "SIZE",
             "Resize images to SIZE, for example 224 or 66x200 (default: the recipe's)");
  visit.text("--classes", options.classes, "auto|N",
             "transfer, script: one class per folder; N requires N folders (default auto)");
  visit.real("--rotate", options.rotate, {0, 180}, "Rotate by up to X degrees in either direction");
  visit.real("--zoom", options.zoom, {0, 0.95}, "Zoom by a factor between 1-X and 1+X");
  visit.real("--shift-x", options.shift_x, {0, 1}, "Shift horizontally by up to X of the width");
  visit.real("--shift-y", options.shift_y, {0, 1}, "Shift vertically by up to X of the height");
  visit.real("--flip", options.flip, {0, 1}, "Flip horizontally with probability X");

  visit.group("Recipe transfer");
  visit.text(
      "--backbone", options.backbone, "FILE",
      "Weights: a state file or TorchScript module as torchvision writes them, or a "
      "checkpoint; mobilenet_v2 or vgg16 to start from random weights (default: mobilenet_v2)");
  visit.flag("--fine-tune", options.fine_tune, true, "Train the backbone too, at a lower rate");
  visit.real("--backbone-rate", options.backbone_rate, {1e-9, 1},
             "With --fine-tune: rate of the backbone as a fraction of the head's (default 0.1)");

  visit.group("Recipes gan and script");
  visit.text("--samples", options.samples, "DIR",
             "gan: write a sheet of samples into this folder after each epoch");
  visit.text("--model", options.model, "FILE", "script: the TorchScript module to train");
  visit.choice("--loss", options.loss, {"cross_entropy", "mse"},
               "script: loss to minimise (default cross_entropy)");
  visit.text(
      "--save", options.save, "FILE",
      "script: write the trained module to this file after each epoch (default: do not write it)");
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
                "Stop after N steps in total");
  visit.data("--data", spec.data,
             "Dataset folder, or 'synthetic' for generated data of the same shape");
  visit.integer("--accumulate", spec.accumulate, {1, 1 << 20},
                "Micro-batches per worker and step, A; B = N b A");
  visit.integer("--seed", spec.seed, {0, std::numeric_limits<std::uint64_t>::max()},
                "Seed for initial parameters, order of examples and augmentation");
  visit.flag("--no-augment", spec.augment, false, "Do not augment training images");
  visit.flag("--no-validation", request.validate, false, "Do not evaluate after each epoch");
  visit.flag("--keep-going", request.keep_going, true, "Continue when the loss is not finite");

  visit.group("Optimizer");
  visit.choice("--optimizer", spec.optimizer, "Optimizer (default: the recipe's)");
  visit.real("--lr", spec.learning_rate, {1e-12, 1e6},
             "Learning rate (default: the recipe's; with another optimizer " +
                 record::usual_rates() + ")");
  visit.real("--momentum", spec.momentum, {0, 0.999999},
             "Momentum of " + record::optimizer_names(false) + " (default: the recipe's)");
  visit.pair(
      "--betas", spec.beta1, spec.beta2, {0, 0.999999},
      "Decay of the moments of " + record::optimizer_names(true) + " (default: the recipe's)");
  visit.real("--weight-decay", spec.weight_decay, {0, 1000},
             "Weight decay (default: the recipe's)");
  visit.choice("--schedule", spec.schedule, "Learning-rate schedule (default: the recipe's)");
  visit.real("--warmup-epochs", spec.warmup_epochs, {0, 1e6},
             "Epochs over which the learning rate rises from zero (default: the recipe's)");
  visit.integers("--lr-steps", spec.lr_steps, {1, 1'000'000},
                 "Epochs after which --schedule step lowers the learning rate, for example 30,60");
  visit.real("--lr-gamma", spec.lr_gamma, {1e-6, 1},
             "Factor by which --schedule step and plateau multiply the learning rate");
  visit.integer(
      "--patience", spec.patience, {0, 1'000'000},
      "Epochs without a lower validation loss before --schedule plateau lowers the learning rate");
  visit.choice("--lr-scale", spec.lr_scale,
               "Multiply the learning rate by B / base batch, or by its square root");
  visit.integer("--base-batch", spec.base_batch, {1, std::int64_t{1} << 40},
                "Global batch for which the learning rate was chosen (default: the recipe's)");

  visit.group("Workers");
  visit.integer_or_auto("-n,--workers", spec.workers, {1, 65'536}, request.workers_auto,
                        "Worker processes (default: one per core); auto measures which number of "
                        "workers and threads trains the most examples/s at the same batch per "
                        "worker, or at the same --global-batch");
  visit.integer("--threads", spec.threads_per_worker, {1, 4096},
                "Compute threads per worker (default: cores / workers)");
  visit.integer("--loader-threads", request.loader_threads, {0, 256},
                "Prefetch threads per worker; 0 loads on the training thread");
  visit.flag("--oversubscribe", spec.oversubscribed, true,
             "Allow more threads than cores; timings are then marked unreliable");
  visit.choice("--strategy", spec.strategy,
               "Sum gradients while backward runs, sum them after it, gather them on rank 0, or "
               "train separately and average weights");
  visit.integer("--every", spec.average_every, {1, std::int64_t{1} << 40},
                "Steps between weight averages with --strategy local (default: one epoch)");
  visit.choice("--wire", spec.wire, "Format in which gradients are sent");
  visit.flag("--sync-bn", spec.sync_batch_norm, true,
             "Compute batch norms over the global batch instead of each worker's batch");
  visit.choice("--backend", spec.backend, "How workers exchange gradients");
  visit.choice("--device", spec.device, {"cpu", "cuda"},
               "Device; with cuda each worker of a host uses its own GPU");
  visit.flag("--amp", spec.amp, true,
             "Mixed precision: forward and backward in 16 bits where that is safe (cuda)");
  visit.choice(
      "--amp-type", spec.amp_type,
      "16-bit type for --amp; auto is bf16 if all GPUs support it natively, else fp16 with a "
      "scaled loss");
  visit.flag("--no-tf32", spec.tf32, false,
             "Compute matrix products on GPUs in full 32 bits instead of TF32");
  visit.flag("--no-channels-last", spec.channels_last, false,
             "Use the same memory layout for convolutions on GPUs as on CPUs");
  visit.flag("--no-cudnn-benchmark", spec.cudnn_benchmark, false,
             "Do not let cuDNN benchmark convolution algorithms");
  visit.flag("--deterministic", spec.deterministic, true,
             "Bit-identical results in every run on the same devices; slower on GPUs");
  visit.size_or_auto("--bucket", spec.bucket_bytes, spec.bucket_auto,
                     "Size of a gradient bucket (default: the engine's); auto tries sizes in the "
                     "first steps and keeps the best");
  visit.size(
      "--memory", request.memory_bytes,
      "Memory limit for all workers of a host together; a worker that exceeds its share fails");
  visit.real("--timeout", request.timeout_s, {0.1, 1e6},
             "Longest wait for another rank, in seconds");
  visit.real("--heartbeat", request.heartbeat_s, {1, 1e6},
             "Seconds without a heartbeat after which a worker is considered hung");
  visit.text("--interface", request.interface, "NAME|ADDRESS",
             "Network for gradients between hosts (default: the one that reaches rank 0)");

  visit.group("Files");
  visit.text("--checkpoint", request.checkpoint_dir, "DIR", "Write checkpoints into DIR");
  visit.integer("--checkpoint-every", request.checkpoint_every, {1, std::int64_t{1} << 40},
                "Steps between checkpoints, in addition to one per epoch");
  visit.flag("--resume", request.resume, true,
             "Continue from the newest checkpoint in that folder");
  visit.text("--trace", request.trace_path, "FILE", "Write a Chrome/Perfetto trace of all ranks");
  visit.flag("--no-step-records", request.record_steps, false,
             "Do not record the times of each step");
  visit.choice("--phases", request.phases,
               "Time the phases of every step, or of one step in 16 (cuda)");
  visit.flag("--check-ranks", request.check_ranks, true,
             "Compare the parameters of all ranks after every step");

  visit_recipe_options(visit, spec.options);
}

}  // namespace lockstep::record
