// Examples per second that the input pipeline delivers on one core, and what handing a batch over
// costs. compare.py runs it in turn with the same work done by torchvision.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string>

#include "lockstep/base/error.h"
#include "lockstep/data/augment/affine.h"
#include "lockstep/data/augment/crop_flip.h"
#include "lockstep/data/files/cifar.h"
#include "lockstep/data/files/image_folder.h"
#include "lockstep/data/loader.h"
#include "lockstep/data/synthetic.h"

namespace {

using namespace lockstep;
using data::Loader;

/// Processor time of all threads: other load on the machine hardly changes it.
double cpu_s() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double wall_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Rate {
  double per_wall_s = 0;
  double per_cpu_s = 0;
};

std::shared_ptr<const data::Transform> cifar_augmentation(data::PixelOrder order) {
  return data::make_crop_flip(
      {.input = {3, 32, 32},
       .padding = 4,
       .flip_probability = 0.5,
       .normalisation = {{0.4914F, 0.4822F, 0.4465F}, {0.2470F, 0.2435F, 0.2616F}},
       .order = order});
}

/// Whole epochs for at least `seconds`.
Rate measure(Loader& loader, double seconds, int first_epoch) {
  std::int64_t examples = 0;
  const double wall = wall_s(), cpu = cpu_s();
  for (int epoch = first_epoch; wall_s() - wall < seconds; ++epoch) {
    loader.start_epoch(epoch);
    while (const auto batch = loader.next()) examples += batch->count();
  }
  const auto count = static_cast<double>(examples);
  return {count / (wall_s() - wall), count / (cpu_s() - cpu)};
}

Rate measure(Loader& loader, double seconds) {
  measure(loader, seconds / 10, 1);  // warm-up
  return measure(loader, seconds, 1000);
}

Rate crop_rate(const std::string& folder, double seconds, int threads, data::PixelOrder order) {
  const auto train = data::load_cifar10(folder).train;
  Loader loader(train, cifar_augmentation(order), {.examples = train->size(), .batch = 128},
                {.threads = threads});
  return measure(loader, seconds);
}

/// Files decoded, resized to 224 x 224, turned, zoomed, moved and mirrored, normalised.
Rate image_rate(const std::string& folder, double seconds, int threads) {
  const auto data = data::load_image_folder(folder, {.validation = 0, .classes = false});
  const std::shared_ptr<const data::Transform> transform =
      data::make_affine({.input = data.split.train->info().shape,
                         .rotation = 20,
                         .zoom = 0.1,
                         .shift_x = 0.1,
                         .shift_y = 0.1,
                         .flip_probability = 0.5,
                         .fill = data::Fill::kBlack,
                         .normalisation = {{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}}});
  Loader loader(data.split.train, transform, {.examples = data.split.train->size(), .batch = 20},
                {.threads = threads});
  return measure(loader, seconds);
}

/// A dataset whose batches cost nothing, so that only the hand-over is left.
Rate handover_rate(int threads, double seconds) {
  const data::ImageShape shape{1, 1, 1};
  const auto train = data::make_synthetic({.shape = shape, .train_examples = 1'000'000}).train;
  Loader loader(train, data::make_crop_flip({.input = shape, .normalisation = {{0}, {1}}}),
                {.examples = train->size(), .batch = 1, .shuffle = false}, {.threads = threads});
  return measure(loader, seconds);
}

int run(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const std::string folder = argc > 2 ? argv[2] : "";
  const double seconds = argc > 3 ? std::atof(argv[3]) : 2;
  const int threads = argc > 4 ? std::atoi(argv[4]) : 0;
  Rate rate;
  if (mode == "crop") {
    rate = crop_rate(folder, seconds, threads, data::PixelOrder::kPlanar);
  } else if (mode == "crop-channels-last") {
    rate = crop_rate(folder, seconds, threads, data::PixelOrder::kInterleaved);
  } else if (mode == "images") {
    rate = image_rate(folder, seconds, threads);
  } else if (mode == "handover") {
    rate = handover_rate(threads, seconds);
  } else {
    throw Error(
        ErrorKind::kUsage, fmt::format("unknown mode '{}'", mode),
        "bench_input_pipeline crop|crop-channels-last|images|handover FOLDER SECONDS THREADS");
  }
  fmt::print("{:.1f} per_s {:.1f} per_cpu_s\n", rate.per_wall_s, rate.per_cpu_s);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const lockstep::Error& error) {
    fmt::print(stderr, "{}", lockstep::format_error(error));
    return lockstep::exit_code(error.kind());
  }
}
