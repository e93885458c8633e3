#include <gtest/gtest.h>

#include "lockstep/base/error.h"
#include "lockstep/import/import_fixture.h"

namespace lockstep::import {
namespace {

// Facts belong to the run that they are stated for; figures that contradict each other are left
// out.

const std::string kKerasSections =
    "Number of devices: 1\n"
    "Epoch 1/2\n"
    "80/80 [======] - 12s 150ms/step - loss: 2.0 - accuracy: 0.30\n"
    "Epoch 2/2\n"
    "80/80 [======] - 11s 138ms/step - loss: 1.6 - accuracy: 0.40\n"
    "Number of devices: 2\n"
    "Epoch 1/2\n"
    "40/40 [======] - 7s 175ms/step - loss: 2.1 - accuracy: 0.29\n"
    "Epoch 2/2\n"
    "40/40 [======] - 6s 150ms/step - loss: 1.7 - accuracy: 0.39\n";

TEST(RunFacts, KerasSectionsKeepTheirOwnDeviceCounts) {
  const ImportedFile file = import_text(kKerasSections);
  ASSERT_EQ(file.format, "keras");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_EQ(*file.runs[0].workers, 1);
  EXPECT_EQ(*file.runs[1].workers, 2);
}

TEST(RunFacts, StepTimesInWholeSecondsAreTooRough) {
  const ImportedFile file =
      import_text("Epoch 1/1\n78/78 - 122s - loss: 0.29 - accuracy: 0.88 - 122s/epoch - 2s/step\n");
  EXPECT_TRUE(file.runs.at(0).step_time.empty()) << "1.56 s";
  EXPECT_DOUBLE_EQ(file.runs[0].epochs.at(0).train_s, 122);
}

TEST(RunFacts, CountsThatTheFileStatesDifferentlyAreOfNoParticularRun) {
  ImportOptions options;
  options.pattern = "(?<run>\\w) epoch (?<epoch>\\d+) took (?<epoch_time>\\S+)";
  const ImportedFile file =
      import_text("world size: 2\na epoch 1 took 12.5\nworld size: 4\nb epoch 1 took 6.5\n",
                  "log.txt", options);
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_FALSE(file.runs[0].workers);
  EXPECT_FALSE(file.runs[1].workers);
}

TEST(RunFacts, TensorFlowStrategiesStateTheirReplicas) {
  const std::string mirrored =
      "INFO: Using MirroredStrategy with devices ('/job:localhost/replica:0/task:0/device:GPU:0', "
      "'/job:localhost/replica:0/task:0/device:GPU:1')\n";
  const std::string cluster =
      "INFO: MultiWorkerMirroredStrategy with cluster_spec = {'worker': ['a:1', 'b:2', 'c:3']}, "
      "task_type = 'worker', task_id = 0, num_workers = 3, local_devices = "
      "('/job:worker/task:0/device:GPU:0', '/job:worker/task:0/device:GPU:1'), communication = X\n";
  const std::string epochs =
      "Epoch 1/1\n80/80 [======] - 12s 150ms/step - loss: 2.0 - accuracy: 0.30\n";
  EXPECT_EQ(*import_text(mirrored + epochs).runs.at(0).workers, 2);
  EXPECT_EQ(*import_text(cluster + epochs).runs.at(0).workers, 6);
}

TEST(RunFacts, TimeHistoryGivesTheOnlyBatchThatFitsItsFigures) {
  const ImportedFile file = import_text(
      "Using MirroredStrategy with devices ('/job:localhost/replica:0/task:0/device:GPU:0',)\n"
      "BATCH_SIZE=512\n"
      "TimeHistory: 40.0000 seconds, 6.4000 examples/second between steps 0 and 1\n"
      "TimeHistory: 0.5000 seconds, 512.0000 examples/second between steps 1 and 2\n"
      "TimeHistory: 0.5100 seconds, 501.9608 examples/second between steps 2 and 3\n");
  ASSERT_EQ(file.runs.size(), 1u);
  EXPECT_EQ(*file.runs[0].workers, 1);
  EXPECT_EQ(*file.runs[0].global_batch, 256) << "0.5 s x 512 examples/s; 512 is another setting";
}

TEST(RunFacts, TimeHistoryConfirmsAStatedBatchWhereItsFiguresAreRough) {
  const std::string rough =
      "TimeHistory: 8.10 seconds, 1011.4 examples/second between steps 1 and 2\n"
      "TimeHistory: 8.10 seconds, 1011.4 examples/second between steps 2 and 3\n";
  const std::string start = "TimeHistory: 66 seconds, 124 examples/second between steps 0 and 1\n";
  const ImportedFile unstated = import_text(start + rough);
  EXPECT_FALSE(unstated.runs.at(0).global_batch) << "8187 to 8198 fit";
  const ImportedFile stated = import_text("BATCH_SIZE=8192\nBATCH_SIZE=64\n" + start + rough);
  EXPECT_EQ(*stated.runs.at(0).global_batch, 8192);
}

TEST(RunFacts, LongHeadingsTellRunsApartByTheirEnds) {
  const std::string common =
      "Running experiment of the sweep over gradient compression with the default optimizer, the "
      "default schedule and the default data on the cluster ";
  ASSERT_GT(common.size(), 120u);
  std::string text;
  for (const std::string way : {"plain", "top-k"}) {
    text += common + way + "\n";
    text += "Epoch 1: loss 2.0, epoch time 12.0 s\nEpoch 2: loss 1.0, epoch time 12.5 s\n";
  }
  const ImportedFile file = import_text(text);
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_NE(*file.runs[0].model, *file.runs[1].model);
  EXPECT_NE(file.runs[0].model.value->find("plain"), std::string::npos);
}

TEST(RunFacts, LengthOfAnEpochIsNoEpoch) {
  const ImportedFile file = import_text(
      "loaded 9000 tokens\n1 epoch = 330 batches\n"
      "step 0 | loss: 9.5000 | dt: 2600.10ms | tok/sec: 3100.5\n"
      "step 1 | loss: 8.1000 | dt: 250.10ms | tok/sec: 32755.2\n"
      "step 2 | loss: 7.2000 | dt: 252.10ms | tok/sec: 32495.4\n");
  ASSERT_EQ(file.runs.size(), 1u);
  EXPECT_TRUE(file.runs[0].epochs.empty());
  EXPECT_EQ(*file.runs[0].steps_per_epoch, 330);
  EXPECT_DOUBLE_EQ(file.runs[0].step_time.last(), 0.2521);
}

TEST(RunFacts, RatesOfOneEpochThatDifferAreLeftOut) {
  const ImportedFile file = import_text(
      "Epoch 1: epoch time = 24.0, images/sec = 2464.0, validation loss = 2.1\n"
      "Epoch 1: epoch time = 24.0, images/sec = 616.0, validation loss = 2.1\n"
      "Epoch 2: epoch time = 23.0, images/sec = 640.0, validation loss = 0.7\n"
      "Epoch 2: epoch time = 23.0, images/sec = 2560.0, validation loss = 0.7\n");
  ASSERT_EQ(file.runs.size(), 1u);
  EXPECT_TRUE(file.runs[0].throughput.empty()) << "of one worker or of all";
  EXPECT_DOUBLE_EQ(file.runs[0].epochs.at(1).train_s, 23);
  EXPECT_FALSE(file.runs[0].warnings.empty());
}

TEST(RunFacts, CommandOfANotebookCellStatesItsRun) {
  const std::string cell =
      R"({"cell_type":"code","execution_count":1,"metadata":{},"source":["!python train.py \\\n",)"
      R"("  --num-gpus 4 --batch-size 64 --epoch 9  # or 1"],"outputs":[{"output_type":"stream",)"
      R"("name":"stdout","text":["Epoch 1: loss 2.0, epoch time 12.0 s\n"]}]})";
  const ImportedFile file =
      import_text(R"({"cells":[)" + cell + R"(],"metadata":{},"nbformat":4})", "a.ipynb");
  ASSERT_EQ(file.runs.size(), 1u);
  EXPECT_EQ(*file.runs[0].workers, 4);
  EXPECT_EQ(*file.runs[0].batch_said, 64);
  ASSERT_EQ(file.runs[0].epochs.size(), 1u);
  EXPECT_EQ(file.runs[0].epochs[0].epoch, 1);
  EXPECT_TRUE(file.runs[0].notes.contains("command"));
}

TEST(RunFacts, NotebookCellWithFiguresBelowItsEpochsIsRead) {
  const ImportedFile file = import_text(
      R"({"cells":[{"cell_type":"code","execution_count":1,"source":[],"outputs":[{"output_type":)"
      R"("stream","text":["Epoch [1/2]\n","Training loss 0.25\n","Testing accuracy 96.5 %\n",)"
      R"("Epoch [2/2]\n","Training loss 0.125\n","Testing accuracy 97.5 %\n"]}]}],"nbformat":4})",
      "b.ipynb");
  ASSERT_EQ(file.runs.size(), 1u);
  ASSERT_EQ(file.runs[0].epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[1].val_accuracy, 0.975);
}

TEST(RunFacts, NotebookCellStatesTheWorkersOfThoseBelow) {
  const auto cell = [](const std::string& text) {
    return R"({"cell_type":"code","source":[],"outputs":[{"output_type":"stream","text":[")" +
           text + R"("]}]})";
  };
  const auto notebook = [&](const std::string& first, const std::string& last) {
    return R"({"cells":[)" + cell(first) + "," + cell("Epoch 1, loss 0.5\\nEpoch 2, loss 0.4\\n") +
           "," + cell(last) + R"(],"nbformat":4})";
  };
  const auto workers = [&](const std::string& first, const std::string& last) {
    return import_text(notebook(first, last), "b.ipynb").runs.at(0).workers.value.value_or(0);
  };
  EXPECT_EQ(workers("Number of devices: 2", "done"), 2);
  EXPECT_EQ(workers("Number of GPUs: 2", "done"), 0) << "may be those of the machine";
  EXPECT_EQ(workers("begin", "Number of devices: 2"), 0) << "below the run";
  EXPECT_EQ(workers("Number of devices: 2", "Number of devices: 4"), 0) << "of which of both?";
}

TEST(RunFacts, PlaceBeforeTheEpochIsWithinIt) {
  const ImportedRun run = import_text(
                              "Finished training it 512/1024 of epoch 0, 12.5 ms/it, loss 0.25\n"
                              "Finished training it 1024/1024 of epoch 0, 12.5 ms/it, loss 0.15\n"
                              "Finished training it 512/1024 of epoch 1, 12.5 ms/it, loss 0.125\n")
                              .runs.at(0);
  EXPECT_DOUBLE_EQ(run.step_time.last(), 0.0125);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 0.2);
  EXPECT_TRUE(run.warnings.empty());
}

TEST(RunFacts, FileOfZerosHasNoText) {
  try {
    import_text(std::string(500, '\0') + "\n");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("are all zeros"), std::string::npos) << error.what();
  }
}

TEST(Facts, AccumulatedStepsAreNoWorkers) {
  const std::string epoch = "Epoch 1, loss 0.5, time 2 s\n";
  const ImportedRun stated = import_text(
                                 "Batch size per GPU: 32\nGradient accumulation steps: 4\n"
                                 "Effective batch size: 512\n" +
                                 epoch)
                                 .runs.at(0);
  EXPECT_EQ(*stated.workers, 4);
  EXPECT_EQ(*stated.accumulate, 4);
  const ImportedRun banner = import_text(
                                 "   Num examples = 8,356 | Num Epochs = 5 | Total steps = 655\n"
                                 " Batch size per device = 32 | Gradient accumulation steps = 2\n"
                                 " Data Parallel GPUs = 1 | Total batch size (32 x 2 x 1) = 64\n" +
                                 epoch)
                                 .runs.at(0);
  EXPECT_EQ(*banner.workers, 1);
  EXPECT_EQ(*banner.batch_per_worker, 32);
  EXPECT_EQ(*banner.global_batch, 64);
  const ImportedRun settings =
      import_text(
          "world_size=2 batch_size_per_gpu=8 gradient_accumulation_steps=4\n"
          "Step 1/9 loss=2.5 0.5s/it\nStep 2/9 loss=2.4 0.5s/it\nStep 3/9 loss=2.3 0.5s/it\n")
          .runs.at(0);
  EXPECT_EQ(*settings.global_batch, 64);
  EXPECT_DOUBLE_EQ(settings.step_time.last(), 0.5);
  EXPECT_TRUE(settings.throughput.empty()) << "a step of 16 examples or of 64?";
}

TEST(Facts, WorkersOfHorovodAreNoneOfALoader) {
  const std::string epoch = "Epoch 1, loss 0.5, time 2 s\n";
  EXPECT_EQ(*import_text("Using Horovod with 2 workers\n" + epoch).runs.at(0).workers, 2);
  EXPECT_FALSE(import_text("Using 8 dataloader workers\n" + epoch).runs.at(0).workers);
  EXPECT_FALSE(import_text("Training with 8 workers\n" + epoch).runs.at(0).workers);
}

TEST(Facts, BatchOfWorkersThatShareEachExampleIsOpen) {
  const std::string log =
      "Sequence length 4096 Sequence parallel size: 4\nIteration 0: loss=9.5\n"
      "Iteration 1: loss=9.1\nIteration 2: loss=8.7\n";
  const ImportedRun named = import_text(log, "gpt_batch_2_gpu_4.log").runs.at(0);
  EXPECT_EQ(*named.workers, 4);
  EXPECT_FALSE(named.global_batch) << "2, not 8: all four work on the same examples";
  EXPECT_FALSE(named.batch_per_worker);
  const ImportedRun stated = import_text("batch size: 2\n" + log, "gpt_gpu_4.log").runs.at(0);
  EXPECT_FALSE(stated.global_batch);
  ASSERT_FALSE(stated.warnings.empty());
  EXPECT_NE(stated.warnings[0].find("share each example"), std::string::npos);
}

TEST(Facts, SummariesOfProcessesAreThoseOfOneRun) {
  std::string log = "[2026-01-02 03:04:05] [INFO] [launch.py:180:main] dist_world_size=2\n";
  for (int step = 0; step < 3; ++step) {
    for (const std::string rank : {"0", "1"})
      log += "[Rank " + rank + "] Step " + std::to_string(step) +
             ": loss=" + std::to_string(9 - step) + ".5, memory=1.2 GB\n";
  }
  for (int process = 0; process < 2; ++process)
    log += "  Batch size: 2, Seq length: 512\n  Average step time: 0.105s\n" +
           std::string("SUMMARY: batch_size=2 avg_step_time=0.1054\n");
  const ImportedFile file = import_text(log);
  ASSERT_EQ(file.runs.size(), 1u) << "not a run per summary";
  EXPECT_EQ(*file.runs[0].workers, 2);
  EXPECT_DOUBLE_EQ(file.runs[0].train_loss.last(), 7.5);
}

TEST(Facts, ResultsNameTheMeanOfTheirSteps) {
  const ImportedRun run =
      import_text(R"({"world_size": 2, "batch_size_per_gpu": 64, "mean_step_sec": 0.25,)"
                  R"( "p95_step_sec": 0.4, "optimizer_step_ms": 3, "images_per_sec_global": 512})",
                  "result.json")
          .runs.at(0);
  EXPECT_EQ(run.step_time.count(), 1u);
  EXPECT_DOUBLE_EQ(run.step_time.last(), 0.25);
}

TEST(Facts, IterationsOfOneRunAreNoRuns) {
  std::string text;
  for (int i = 1; i <= 4; ++i)
    text += "{\"loss\": 0." + std::to_string(9 - i) +
            ", \"training_iteration\": " + std::to_string(i) +
            ", \"time_this_iter_s\": 6.5, \"time_total_s\": " + std::to_string(i * 6.5) +
            ", \"batch_size_per_worker\": 16}\n";
  const ImportedFile file = import_text(text, "result.json");
  ASSERT_EQ(file.runs.size(), 1u);
  EXPECT_TRUE(file.runs[0].step_time.empty()) << "a report is no step";
}

TEST(Facts, PlacesAndOptionsThatAreNoNumberAreUnknown) {
  const std::string epochs = "Epoch 1: loss 0.5\nEpoch 2: loss 0.25\n";
  for (const char* line :
       {"python main.py -a resnet18 --batch-size NaN\n", "python main.py --epochs 1e300\n",
        "Epoch: [nan][ 0/10] Time 0.5 (0.5) Loss 0.5 (0.5)\n",
        "Train: nan [ 0/10 (0%)] Loss: 0.5\n", "nan/5, train_loss: 0.5\n"}) {
    for (const char* format : {"transcript", "pytorch-imagenet", "timm", "keras"}) {
      ImportOptions options;
      options.format = format;
      const std::string text = line + epochs;  // outlives its reader
      Input input("log.txt", bytes_in_memory(text));
      try {
        for (const ImportedRun& run : Importer(options).read(input).runs)
          EXPECT_FALSE(run.batch_per_worker) << line;
      } catch (const Error&) {  // nothing to read
      }
    }
  }
  const ImportedFile table = import_text("epoch,step,train_loss\nnan,1,0.5\n1,2,0.25\n", "m.csv");
  EXPECT_EQ(table.runs.at(0).epochs.size(), 1u);
}

TEST(Facts, WorldSizeThatIsNoNumberIsUnknown) {
  const ImportedRun run = import_text(
                              "World size NaN\nIter #0: 105.5 img/sec per GPU\n"
                              "Iter #1: 105.5 img/sec per GPU\n")
                              .runs.at(0);
  EXPECT_FALSE(run.workers);
}

}  // namespace
}  // namespace lockstep::import
