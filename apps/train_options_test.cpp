#include "train_options.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"
#include "lockstep/record/train_arguments.h"

namespace lockstep::cli {
namespace {

record::TrainRequest parse(std::vector<std::string> arguments) {
  record::TrainRequest request;
  CLI::App app;
  add_train_options(app, request);
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 requires
  app.parse(arguments);
  return request;
}

/// Every field an option sets, comparable.
nlohmann::json fields(const record::TrainRequest& r) {
  return {{"spec", r.spec},
          {"workers", r.workers_auto},
          {"checkpoint", {r.checkpoint_dir, r.resume, r.checkpoint_every}},
          {"trace", r.trace_path},
          {"flags", {r.keep_going, r.validate, r.check_ranks, r.record_steps}},
          {"timeout", r.timeout_s},
          {"loader", r.loader_threads}};
}

std::string random_text(Rng& rng) {
  constexpr std::string_view kLetters = "abc XYZ019-_=./,;:'\"[]{}()$\\\t%~*?!#&|<>\xc3\xa9";
  std::string text;
  const std::size_t length = 1 + rng.below(20);
  for (std::size_t i = 0; i < length; ++i) text += kLetters[rng.below(kLetters.size())];
  return text;
}

record::TrainRequest random_request(Rng& rng) {
  const auto maybe = [&] { return rng.below(2) == 0; };
  record::TrainRequest r;
  r.spec.recipe = maybe() ? "fashion" : "cifar-resnet18";
  r.workers_auto = maybe();
  if (!r.workers_auto) r.spec.workers = 1 + static_cast<int>(rng.below(1000));
  r.spec.threads_per_worker = 1 + static_cast<int>(rng.below(64));
  r.spec.batch_per_worker = 1 + static_cast<std::int64_t>(rng.below(1 << 20));
  r.spec.epochs = 1 + static_cast<int>(rng.below(10'000));
  if (maybe()) r.spec.max_steps = 1 + static_cast<std::int64_t>(rng.below(1ull << 39));
  if (maybe()) r.spec.data.path = maybe() ? "synthetic" : random_text(rng);
  r.spec.data.synthetic = r.spec.data.path == "synthetic";
  if (maybe()) r.spec.learning_rate = rng.uniform() + 1e-9;
  if (maybe()) r.spec.momentum = rng.uniform() * 0.99;
  if (maybe()) r.spec.weight_decay = rng.uniform() * 1e-3;
  const auto any = [&](std::vector<std::string> choices) {
    return choices[rng.below(choices.size())];
  };
  const auto any_of = [&]<class Enum>(std::type_identity<Enum>) {
    return record::parse_choice<Enum>("", any(record::names_of<Enum>()));
  };
  const auto choose = [&]<class Enum>(Enum& field) { field = any_of(std::type_identity<Enum>()); };
  const auto may_choose = [&]<class Enum>(std::optional<Enum>& field) {
    if (maybe()) field = any_of(std::type_identity<Enum>());
  };
  r.spec.accumulate = 1 + static_cast<int>(rng.below(9));
  may_choose(r.spec.optimizer);
  if (maybe()) r.spec.beta1 = rng.uniform() * 0.99, r.spec.beta2 = rng.uniform() * 0.99;
  may_choose(r.spec.schedule);
  if (maybe()) r.spec.warmup_epochs = rng.uniform() * 10;
  for (std::uint64_t i = rng.below(4); i-- > 0;) {
    r.spec.lr_steps.push_back(1 + static_cast<int>(rng.below(100)));
  }
  r.spec.lr_gamma = 0.01 + rng.uniform() * 0.9;
  r.spec.patience = static_cast<int>(rng.below(10));
  choose(r.spec.lr_scale);
  if (maybe()) r.spec.base_batch = 1 + static_cast<std::int64_t>(rng.below(10'000));
  if (maybe()) r.spec.average_every = 1 + static_cast<std::int64_t>(rng.below(100));
  choose(r.spec.wire);
  r.spec.sync_batch_norm = maybe();
  r.spec.amp = maybe();
  choose(r.spec.amp_type);
  choose(r.phases);
  for (bool* setting :
       {&r.spec.tf32, &r.spec.channels_last, &r.spec.cudnn_benchmark, &r.spec.deterministic}) {
    *setting = maybe();
  }
  r.spec.device = any({"cpu", "cuda"});
  may_choose(r.spec.strategy);
  may_choose(r.spec.backend);
  r.spec.bucket_auto = maybe();
  if (!r.spec.bucket_auto && maybe()) r.spec.bucket_bytes = 1 + rng.below(1ull << 32);
  r.spec.seed = maybe() ? rng.next() : rng.below(5);
  r.spec.augment = maybe();
  r.spec.oversubscribed = maybe();
  auto& options = r.spec.options;
  for (std::string* text : {&options.image_size, &options.classes, &options.backbone,
                            &options.model, &options.save, &options.samples}) {
    if (maybe()) *text = random_text(rng);
  }
  for (double* part : {&options.validation, &options.rotate, &options.zoom, &options.shift_x,
                       &options.shift_y, &options.flip, &options.backbone_rate}) {
    if (maybe()) *part = 1e-9 + rng.uniform() * 0.9;
  }
  options.strict = maybe();
  options.fine_tune = maybe();
  if (maybe()) options.loss = maybe() ? "mse" : "cross_entropy";
  if (maybe()) r.checkpoint_dir = random_text(rng);
  r.resume = maybe();
  if (maybe()) r.checkpoint_every = 1 + static_cast<std::int64_t>(rng.below(1000));
  if (maybe()) r.trace_path = random_text(rng);
  r.keep_going = maybe();
  r.validate = maybe();
  r.check_ranks = maybe();
  r.record_steps = maybe();
  r.timeout_s = 0.1 + rng.uniform() * 1000;
  r.loader_threads = static_cast<int>(rng.below(8));
  return r;
}

TEST(TrainOptions, ArgumentsGiveBackTheRequestTheyWereMadeFrom) {
  Rng rng(11);
  for (int trial = 0; trial < 1000; ++trial) {
    const record::TrainRequest request = random_request(rng);
    ASSERT_EQ(fields(parse(record::train_arguments(request))), fields(request))
        << fmt::format("{}", fmt::join(record::train_arguments(request), " "));
  }
}

TEST(TrainOptions, DefaultsSurviveARoundTrip) {
  const record::TrainRequest request;
  EXPECT_EQ(fields(parse(record::train_arguments(request))), fields(request));
  EXPECT_EQ(fields(parse({})), fields(request));
}

TEST(TrainOptions, SyntheticDataIsMarkedAsSuch) {
  EXPECT_TRUE(parse({"--data", "synthetic"}).spec.data.synthetic);
  EXPECT_FALSE(parse({"--data", "/data/synthetic"}).spec.data.synthetic);
}

TEST(TrainOptions, ReportsWhatIsWrongWithANumber) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--workers", "0"}, "--workers 0 is below 1"},
      {{"-n", "-3"}, "--workers -3 is below 1"},
      {{"-n", "two"}, "--workers 'two' is not a whole number"},
      {{"-n", "1.5"}, "--workers '1.5' is not a whole number"},
      {{"--batch", "99999999999999999999"}, "--batch 99999999999999999999 is out of range"},
      {{"--batch", "100000000"}, "--batch 100000000 is above 16777216"},
      {{"--epochs", ""}, "--epochs '' is not a whole number"},
      {{"--lr", "0"}, "--lr 0 is below 1e-12"},
      {{"--lr", "nan"}, "--lr nan is not a number"},
      {{"--lr", "inf"}, "--lr inf is above 1000000"},
      {{"--momentum", "1"}, "--momentum 1 is above 0.999999"},
      {{"--seed", "-1"}, "--seed -1 is out of range"},
      {{"--bucket", "0"}, "--bucket 0 must be larger than 0"},
      {{"--bucket", "many"}, "--bucket 'many' is not a size"},
      {{"--strategy", "overlapp"}, "--strategy 'overlapp' is unknown"},
      {{"--data", ""}, "--data is empty"},
      {{"--betas", "0.9"}, "--betas '0.9' is not a pair of numbers"},
      {{"--betas", "0.9,1"}, "--betas 1 is above 0.999999"},
      {{"--lr-steps", "3,x"}, "--lr-steps 'x' is not a whole number"},
      {{"--optimizer", "sdg"}, "--optimizer 'sdg' is unknown"},
  };
  for (const auto& [arguments, message] : cases) {
    try {
      parse(arguments);
      ADD_FAILURE() << "accepted " << fmt::format("{}", fmt::join(arguments, " "));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_EQ(error.what(), message);
      EXPECT_FALSE(error.hint().empty()) << message;
    }
  }
}

TEST(TrainOptions, HintsNameAutoWhereItMayBeGiven) {
  for (const char* option : {"--workers", "--bucket"}) {
    try {
      parse({option, "autos"});
      ADD_FAILURE() << option;
    } catch (const Error& error) {
      EXPECT_TRUE(error.hint().ends_with(", or auto")) << error.hint();
    }
  }
}

TEST(TrainOptions, RefusesCombinationsThatMakeNoSense) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--optimizer", "sgd", "--betas", "0.9,0.99"}, "--betas has no effect with --optimizer sgd"},
      {{"--optimizer", "adamw", "--momentum", "0.9"},
       "--momentum has no effect with --optimizer adamw"},
      {{"--schedule", "step"},
       "--schedule step needs the epochs after which the learning rate falls"},
      {{"--lr-steps", "3"}, "--lr-steps needs --schedule step"},
      {{"--schedule", "step", "--lr-steps", "6,3"}, "--lr-steps 6,3 is not in ascending order"},
      {{"--schedule", "plateau", "--no-validation"},
       "--schedule plateau needs the validation loss"},
      {{"--base-batch", "128"}, "--base-batch has no effect without --lr-scale"},
      {{"--every", "4"}, "--every needs --strategy local"},
      {{"--strategy", "local", "--wire", "fp16"},
       "--wire fp16 has no effect with --strategy local, which exchanges no gradients"},
      {{"--strategy", "local", "--sync-bn"},
       "--sync-bn cannot be combined with --strategy local, where workers train separately"},
      {{"--strategy", "central", "--wire", "bf16"},
       "--wire bf16 cannot be combined with --strategy central"},
      {{"--backend", "nccl"}, "--backend nccl works with GPUs only"},
      {{"--amp"}, "--amp needs --device cuda"},
  };
  for (const auto& [arguments, message] : cases) {
    try {
      check_train_request(parse(arguments));
      ADD_FAILURE() << "accepted " << fmt::format("{}", fmt::join(arguments, " "));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_EQ(error.what(), message);
      EXPECT_FALSE(error.hint().empty()) << message;
    }
  }
}

TEST(TrainOptions, RefusesToResumeFromNowhere) {
  EXPECT_THROW(check_train_request(parse({"--resume"})), Error);
  EXPECT_THROW(check_train_request(parse({"--checkpoint-every", "5"})), Error);
  EXPECT_NO_THROW(check_train_request(parse({"--resume", "--checkpoint", "dir"})));
}

}  // namespace
}  // namespace lockstep::cli
