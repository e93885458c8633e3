#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockstep/import/model/log_reader.h"
#include "lockstep/import/model/reader.h"

/// Every format that `lockstep import` reads, one line per format: this table both declares the
/// function that a source of this folder defines and registers the reader. Of two readers that are
/// equally sure the first is taken, so formats with a signature of their own come before those that
/// fit many logs.
///
/// READER(x)  std::unique_ptr<Reader> make_x_reader();
/// NESTED(x)  the same, given the list of all readers, for what is printed inside the file
/// FORMAT(x)  LogFormat x_format();                    a format of text lines
/// FORMATS(x) std::vector<LogFormat> x_formats();      several that share a parser
#define LOCKSTEP_READERS(READER, NESTED, FORMAT, FORMATS)                                  \
  NESTED(notebook)            /* Jupyter notebooks: the output of each cell */             \
  NESTED(markdown)            /* documents: tables, and the output in code blocks */       \
  NESTED(wandb_run)           /* run-*.wandb: history, configuration, printed times */     \
  READER(tensorboard)         /* event files: scalars and wall times */                    \
  READER(horovod_timeline)    /* what Horovod writes on rank 0 */                          \
  READER(kineto)              /* traces of the PyTorch profiler */                         \
  READER(trainer_state)       /* trainer_state.json of Hugging Face's Trainer */           \
  READER(measurements)        /* Lockstep's own interchange table */                       \
  READER(wandb_chart)         /* a chart exported from Weights & Biases */                 \
  READER(wandb_runs)          /* the runs table exported from Weights & Biases */          \
  READER(history_jsonl)       /* one flat JSON object per line */                          \
  READER(sacct)               /* job tables of Slurm */                                    \
  READER(lightning_csv)       /* CSV with an epoch or step column: Lightning, CSVLogger */ \
  READER(result_json)         /* the result of one run as one JSON object */               \
  FORMATS(step_log)           /* torchtitan, NeMo, detectron2, mmengine, MaxText */        \
  FORMAT(mlperf)              /* :::MLLOG and :::MLL lines */                              \
  FORMAT(nccl_tests)          /* tables of all_reduce_perf and its sisters */              \
  FORMAT(time_history)        /* the TimeHistory callback of the TensorFlow models */      \
  FORMAT(tf_cnn_benchmarks)   /* header, images/sec lines, total images/sec */             \
  FORMAT(horovod_synthetic)   /* "Img/sec per GPU", "Total img/sec on 4 GPU(s)" */         \
  FORMAT(megatron)            /* Megatron-LM and DeepSpeed */                              \
  FORMAT(trainer_stdout)      /* what Hugging Face's Trainer prints */                     \
  FORMAT(espnet)              /* ESPnet's results of each epoch */                         \
  FORMAT(fairseq)             /* fairseq-train, simple and JSON lines */                   \
  FORMAT(timm)                /* timm's train.py */                                        \
  FORMAT(pytorch_imagenet)    /* PyTorch's ImageNet example, apex, torchvision */          \
  FORMAT(examples_per_second) /* "4728.8 examples/sec on [devices]" of d2l.ai */           \
  FORMAT(keras)               /* epoch lines and progress bars, Keras 1 to 3 */            \
  FORMAT(nanogpt)             /* nanoGPT and variants */                                   \
  FORMAT(yolo_results)        /* results.txt of YOLOv5 and YOLOv7 */                       \
  FORMAT(estimator)           /* TensorFlow's Estimator */                                 \
  READER(transcript)          /* whatever a script prints about its epochs or steps */     \
  READER(tables)              /* tables of runs or epochs that somebody wrote */           \
  READER(frames)              /* tables of runs as pandas prints them */

namespace lockstep::import {

using Readers = std::vector<std::unique_ptr<Reader>>;

#define LOCKSTEP_DECLARE_READER(name) std::unique_ptr<Reader> make_##name##_reader();
#define LOCKSTEP_DECLARE_NESTED(name) std::unique_ptr<Reader> make_##name##_reader(const Readers&);
#define LOCKSTEP_DECLARE_FORMAT(name) LogFormat name##_format();
#define LOCKSTEP_DECLARE_FORMATS(name) std::vector<LogFormat> name##_formats();
LOCKSTEP_READERS(LOCKSTEP_DECLARE_READER, LOCKSTEP_DECLARE_NESTED, LOCKSTEP_DECLARE_FORMAT,
                 LOCKSTEP_DECLARE_FORMATS)
#undef LOCKSTEP_DECLARE_READER
#undef LOCKSTEP_DECLARE_NESTED
#undef LOCKSTEP_DECLARE_FORMAT
#undef LOCKSTEP_DECLARE_FORMATS

/// Reads any line log by a regular expression (ECMAScript) with named groups, (?<name>...) or
/// (?P<name>...). A group's name defines what its number is: epoch, step, loss, val_accuracy,
/// epoch_time, step_time_ms, throughput, ...; workers, batch, model and the other names of `--set`
/// are facts; `run` begins a run each time its text changes. Throws kUsage for a pattern that is
/// none or has no named group.
std::unique_ptr<Reader> make_pattern_reader(const std::string& pattern);

}  // namespace lockstep::import
