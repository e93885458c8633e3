#pragma once

#include "lockstep/record/choice_names.h"

/// What a user of the trainer chooses by name. One enum and one table each: options, checks,
/// records and reports all take their names from here.
namespace lockstep::record {

/// How the ranks of a run come to have the same parameters.
enum class Strategy {
  kOverlap,   ///< the all-reduce of a bucket starts as soon as backward has filled it
  kBlocking,  ///< all buckets start when backward is done
  kCentral,   ///< gradients go to rank 0, which updates the parameters and sends them to all
  kLocal,     ///< every rank updates its own; parameters are averaged now and then
};

template <>
struct ChoiceTable<Strategy> {
  static constexpr char kWhat[] = "strategy";
  static constexpr ChoiceName<Strategy> kEntries[] = {{Strategy::kOverlap, "overlap"},
                                                      {Strategy::kBlocking, "blocking"},
                                                      {Strategy::kCentral, "central"},
                                                      {Strategy::kLocal, "local"}};
};

/// The format in which gradients travel between ranks.
enum class Wire {
  kFloat,  ///< 32 bits, as they are
  kHalf,   ///< IEEE 16-bit floats, 11 bits of precision
  kBrain,  ///< the upper half of a float, 8 bits of precision and the range of a float
};

template <>
struct ChoiceTable<Wire> {
  static constexpr char kWhat[] = "wire format";
  static constexpr ChoiceName<Wire> kEntries[] = {
      {Wire::kFloat, "fp32"}, {Wire::kHalf, "fp16"}, {Wire::kBrain, "bf16"}};
};

/// The shape of the learning rate over a run, after its warm-up.
enum class ScheduleShape {
  kConstant,
  kLinear,   ///< straight down to zero at the last step
  kStep,     ///< lowered after given epochs
  kCosine,   ///< half a cosine down to zero (Loshchilov and Hutter 2017)
  kPlateau,  ///< lowered when the validation loss stops falling
};

template <>
struct ChoiceTable<ScheduleShape> {
  static constexpr char kWhat[] = "learning-rate schedule";
  static constexpr ChoiceName<ScheduleShape> kEntries[] = {{ScheduleShape::kConstant, "constant"},
                                                           {ScheduleShape::kLinear, "linear"},
                                                           {ScheduleShape::kStep, "step"},
                                                           {ScheduleShape::kCosine, "cosine"},
                                                           {ScheduleShape::kPlateau, "plateau"}};
};

/// The 16-bit floats of --amp.
enum class AmpType {
  kAuto,   ///< bf16 where all GPUs compute in it, else fp16
  kBrain,  ///< the range of a float: no loss has to be scaled
  kHalf,   ///< with a scaled loss
};

template <>
struct ChoiceTable<AmpType> {
  static constexpr char kWhat[] = "type of mixed precision";
  static constexpr ChoiceName<AmpType> kEntries[] = {
      {AmpType::kAuto, "auto"}, {AmpType::kBrain, "bf16"}, {AmpType::kHalf, "fp16"}};
};

/// How the phases of steps are timed on devices that the host does not wait for.
enum class PhaseTiming {
  kFull,     ///< of every step
  kSampled,  ///< of one step in a few
};

template <>
struct ChoiceTable<PhaseTiming> {
  static constexpr char kWhat[] = "timing of phases";
  static constexpr ChoiceName<PhaseTiming> kEntries[] = {{PhaseTiming::kFull, "full"},
                                                         {PhaseTiming::kSampled, "sampled"}};
};

/// How the learning rate grows with the global batch.
enum class RateScaling {
  kNone,
  kLinear,  ///< in proportion (Goyal et al. 2017)
  kSqrt,    ///< with its square root (Krizhevsky 2014)
};

template <>
struct ChoiceTable<RateScaling> {
  static constexpr char kWhat[] = "scaling of the learning rate";
  static constexpr ChoiceName<RateScaling> kEntries[] = {
      {RateScaling::kNone, "none"}, {RateScaling::kLinear, "linear"}, {RateScaling::kSqrt, "sqrt"}};
};

/// One line per optimizer: enumerator, name, a learning rate that suits it where a recipe gives
/// none, and whether it has Adam's betas instead of a momentum. src/lockstep/train/optim/NAME.cpp
/// defines how it moves the parameters.
#define LOCKSTEP_OPTIMIZERS(OPTIMIZER)  \
  OPTIMIZER(kSgd, sgd, 0.1, false)      \
  OPTIMIZER(kAdam, adam, 0.001, true)   \
  OPTIMIZER(kAdamW, adamw, 0.001, true) \
  OPTIMIZER(kLars, lars, 8, false)      \
  OPTIMIZER(kLamb, lamb, 0.01, true)

#define LOCKSTEP_ENUMERATOR(value, name, rate, betas) value,
enum class Optimizer { LOCKSTEP_OPTIMIZERS(LOCKSTEP_ENUMERATOR) };
#undef LOCKSTEP_ENUMERATOR

struct OptimizerFacts {
  Optimizer value;
  std::string_view name;
  double usual_rate;
  bool uses_betas;
};

template <>
struct ChoiceTable<Optimizer> {
  static constexpr char kWhat[] = "optimizer";
#define LOCKSTEP_FACTS(value, name, rate, betas) {Optimizer::value, #name, rate, betas},
  static constexpr OptimizerFacts kEntries[] = {LOCKSTEP_OPTIMIZERS(LOCKSTEP_FACTS)};
#undef LOCKSTEP_FACTS
};

constexpr const OptimizerFacts& facts_of(Optimizer optimizer) {
  return ChoiceTable<Optimizer>::kEntries[static_cast<int>(optimizer)];
}

/// One line per way for ranks to exchange data: enumerator and name.
/// src/lockstep/comm/backends/NAME.cpp or a folder NAME defines NAME_backend(), which makes it.
#define LOCKSTEP_BACKENDS(BACKEND)     \
  BACKEND(kSharedMemory, shm)          \
  BACKEND(kHierarchical, hierarchical) \
  BACKEND(kGloo, gloo)                 \
  BACKEND(kMpi, mpi)                   \
  BACKEND(kNccl, nccl)

#define LOCKSTEP_ENUMERATOR(value, name) value,
enum class Backend {
  kAuto,  ///< chosen when the ranks have met
  kNone,  ///< one worker alone: nothing to exchange
  kTcp,   ///< in old records only; replaced by kGloo
  LOCKSTEP_BACKENDS(LOCKSTEP_ENUMERATOR)
};
#undef LOCKSTEP_ENUMERATOR

struct BackendName {
  Backend value;
  std::string_view name;
  bool offered = true;  ///< whether a user may ask for it
};

template <>
struct ChoiceTable<Backend> {
  static constexpr char kWhat[] = "back end";
#define LOCKSTEP_NAME(value, name) {Backend::value, #name},
  static constexpr BackendName kEntries[] = {{Backend::kAuto, "auto"},
                                             LOCKSTEP_BACKENDS(LOCKSTEP_NAME)  //
                                             {Backend::kNone, "none", false},
                                             {Backend::kTcp, "tcp", false}};
#undef LOCKSTEP_NAME
};

/// What starts the workers of a run.
enum class Launcher {
  kLocal,        ///< this program, on this machine
  kMpi,          ///< mpirun
  kSlurm,        ///< srun, or a batch job
  kSshHostfile,  ///< ssh to the hosts of a file
};

template <>
struct ChoiceTable<Launcher> {
  static constexpr char kWhat[] = "launcher";
  static constexpr ChoiceName<Launcher> kEntries[] = {{Launcher::kLocal, "local"},
                                                      {Launcher::kMpi, "mpi"},
                                                      {Launcher::kSlurm, "slurm"},
                                                      {Launcher::kSshHostfile, "ssh-hostfile"}};
};

/// Names of the optimizers with or without betas: "adam, adamw, lamb".
std::string optimizer_names(bool uses_betas);

/// "sgd 0.1, adam 0.001, ..."
std::string usual_rates();

}  // namespace lockstep::record
