#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockstep/import/model/log_reader.h"
#include "lockstep/import/model/reader.h"

/// Every format that `lockstep import` reads, one function per source of this folder. A new format
/// is declared here and listed in registry.cpp.
namespace lockstep::import {

// Formats of text lines.

/// MLPerf training result logs: :::MLLOG and :::MLL lines.
LogFormat mlperf_format();

/// nccl-tests tables (all_reduce_perf and its sisters), as a calibration of the link.
LogFormat nccl_tests_format();

/// TensorFlow's tf_cnn_benchmarks: header, images/sec lines, total images/sec.
LogFormat tf_cnn_benchmarks_format();

/// Horovod's synthetic benchmarks: "Img/sec per GPU" and "Total img/sec on 4 GPU(s)".
LogFormat horovod_synthetic_format();

/// Megatron-LM and DeepSpeed stdout: arguments, iteration lines, timers, SamplesPerSec.
LogFormat megatron_format();

/// What Hugging Face's Trainer prints: "***** Running training *****" with the sizes of the run,
/// then one Python dict a log step, {'loss': 0.5, 'learning_rate': 4.9e-05, 'epoch': 0.5}.
LogFormat trainer_stdout_format();

/// timm's train.py: "Train: 0 [  50/1251 (  4%)]  Loss: 6.9 (6.9)  Time: 0.3s, 400.3/s (0.4s, ...".
LogFormat timm_format();

/// The stdout of PyTorch's examples/imagenet main.py, of scripts grown from it (apex: Speed) and of
/// torchvision's references (img/s, acc1, Total time).
LogFormat pytorch_imagenet_format();

/// "loss 0.2, train acc 0.9, test acc 0.8 / 4728.8 examples/sec on [devices]" printouts of d2l.ai,
/// also with sec/epoch and tokens/sec.
LogFormat examples_per_second_format();

/// Keras' epoch lines (verbose 1 and 2, Keras 1 to 3), its progress bars however mangled, and the
/// BenchmarkMetric lines of the TensorFlow models' time callback.
LogFormat keras_format();

/// The TimeHistory callback of the TensorFlow models.
LogFormat time_history_format();

/// nanoGPT's iterations and those of programs grown from it.
LogFormat nanogpt_format();

/// What TensorFlow's Estimator prints: losses by step, steps per second.
LogFormat estimator_format();

/// results.txt of YOLOv5 and YOLOv7: a line per epoch without names.
LogFormat yolo_results_format();

/// torchtitan, NeMo, detectron2 and mmengine: one line per step or per few steps.
std::vector<LogFormat> step_log_formats();

/// What a script prints about its epochs or steps, in any words: segments (which lines belong to
/// which run), facts (workers, batch, device, ...) and figures (train, validation and test).
std::unique_ptr<Reader> make_transcript_reader();

// Tables, JSON and binary files.

/// TensorBoard event files: scalars and wall times.
std::unique_ptr<Reader> make_tensorboard_reader();

/// The timeline that Horovod writes on rank 0: workers, step times, negotiation and collectives.
std::unique_ptr<Reader> make_horovod_timeline_reader();

/// Traces of the PyTorch profiler (Kineto): step times, and the compute, communication and overlap
/// of the rank that wrote it.
std::unique_ptr<Reader> make_kineto_reader();

/// The trainer_state.json of Hugging Face's Trainer.
std::unique_ptr<Reader> make_trainer_state_reader();

/// The measurements table, Lockstep's own interchange form: its rows are kept unchanged.
std::unique_ptr<Reader> make_measurements_reader();

/// A chart exported from Weights & Biases: one column per run and metric ("run - train/loss", with
/// __MIN and __MAX beside it). One run per name.
std::unique_ptr<Reader> make_wandb_chart_reader();

/// The runs table exported from Weights & Biases: one row per run with its settings and last
/// figures.
std::unique_ptr<Reader> make_wandb_runs_reader();

/// Figures as JSON lines: the history of Weights & Biases (_step, _runtime, _timestamp) and other
/// logs of one flat object per line.
std::unique_ptr<Reader> make_history_jsonl_reader();

/// Job tables of Slurm's sacct, separated by | or in columns: queue wait, run time, size and state.
std::unique_ptr<Reader> make_sacct_reader();

/// PyTorch Lightning's metrics.csv and other CSV files with an epoch or step column and one column
/// per metric (Keras' CSVLogger): sparse rows are put together by epoch.
std::unique_ptr<Reader> make_lightning_csv_reader();

/// Jupyter notebooks: the output of each cell is read by the first of `readers`, which must outlive
/// it, that is likely to recognise it.
std::unique_ptr<Reader> make_notebook_reader(const std::vector<std::unique_ptr<Reader>>& readers);

/// Text with tables of runs as pandas prints them, and no other format.
std::unique_ptr<Reader> make_frames_reader();

/// The record that Weights & Biases keeps of a run (run-*.wandb): its history and configuration,
/// and the times in what it printed, read by one of `readers`, which must outlive it.
std::unique_ptr<Reader> make_wandb_run_reader(const std::vector<std::unique_ptr<Reader>>& readers);

/// The result of one run as one JSON object: world_size, batch_size_per_rank, step_time_ms, loss,
/// ...
std::unique_ptr<Reader> make_result_json_reader();

/// Reads any line log by a regular expression (ECMAScript) with named groups, (?<name>...) or
/// (?P<name>...). A group's name defines what its number is: epoch, step, loss, val_accuracy,
/// epoch_time, step_time_ms, throughput, ...; workers, batch, model and the other names of `--set`
/// are facts; `run` begins a run each time its text changes. Throws kUsage for a pattern that is
/// none or has no named group.
std::unique_ptr<Reader> make_pattern_reader(const std::string& pattern);

}  // namespace lockstep::import
