// SPDX-License-Identifier: MIT
//
// vkflash/mpi.hpp: attention over the ranks of an MPI program, forward and backward. A sequence that one GPU cannot
// hold is split: each rank holds a part of the rows of q, and a part of the keys of k and v. C++20.
//
//     MPI_Init(&argc, &argv);
//     vkf::mpi::Ranks ranks(MPI_COMM_WORLD);
//     vkf::mpi::Attention attention(ranks, problem, {}, {});     // problem: the whole call
//     attention.upload({q, k, v});                               // the parts of this rank
//     attention.run();
//     attention.download({o});
//
// - A rank is a process with one Vulkan device.
// - Every function is collective unless it says otherwise: all ranks call it, in the same order, with equal arguments
//   but for their own tensors.
// - Threads: all objects of one Ranks belong to one thread. MPI_THREAD_SINGLE is enough.
// - Lifetimes: a Ranks must outlive everything that is made of it. MPI must still be initialized then.
//
// Errors are exceptions of type vkf::host::Error. Two kinds differ in what the caller can do next:
// - Wrong arguments, missing features and missing memory are found before anything travels. All ranks throw the same
//   error, which names the rank that it comes from. The ranks may go on.
// - A failure while tensors travel, such as a lost device, reaches the other ranks within seconds. They throw an error
//   that names the rank. Calls of MPI are unfinished then, so that the program must end: MPI_Abort.
#ifndef VKFLASH_MPI_HPP
#define VKFLASH_MPI_HPP

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <mpi.h>

#include <vkflash/host.hpp>

namespace vkf::mpi {

// Which rows and keys a rank holds. P is the number of ranks. Each sequence is cut into chunks that differ by at most
// one row.
// - contiguous: P chunks. Rank r holds chunk r.
// - zigzag: 2 P chunks. Rank r holds the chunks r and 2 P - 1 - r, so that a causal mask gives all ranks equal work.
enum class Distribution { contiguous, zigzag };

// How ranks compute rows over keys that other ranks hold.
// - automatic: see chooseMethod.
// - ring: the ranks keep their rows. Blocks of k and v go round.
// - headExchange: an exchange gives each rank some heads of the whole sequence, and another one brings the results
//   back. kvHeads must be a multiple of the number of ranks.
enum class Method { automatic, ring, headExchange };

// How blocks of the ring travel.
// - automatic: through shared memory where all ranks are on one node, and where device and system can; else messages.
// - messages: from mapped memory of one rank to that of the next, by MPI.
enum class Transport { automatic, messages };

// Names of the above, as flags of the program: "zigzag", "heads". Not collective.
const char* distributionName(Distribution distribution) noexcept;
const char* methodName(Method method) noexcept;

// How a call is split over the ranks.
struct Split {
    Distribution distribution = Distribution::contiguous;
    Method method = Method::automatic;
    Transport transport = Transport::automatic;
    // In how many groups the ring takes the KV heads, one group after the other: a divisor of kvHeads. More groups need
    // less memory for blocks and partial results, and their copies begin to hide earlier; kernels get smaller. 0 = as
    // many as leave kernels large enough, at most 8 forward and 16 backward. The exchange has no groups. With the
    // standard slopes of ALiBi there is one.
    uint32_t headGroups = 0;
};

// Lengths of the sequences, in host memory, the same on all ranks. Read while an object is constructed.
struct Lengths {
    const int32_t* keyLengths = nullptr; // [batch], with VKF_USE_KEY_LENGTHS
    const int32_t* cuSeqlensQ = nullptr; // [batch + 1], with VKF_USE_CU_SEQLENS; vkfCheckSequences must accept it
    const int32_t* cuSeqlensK = nullptr; // [batch + 1], like cuSeqlensQ
};

// A range of the rows or keys of one sequence.
struct SequenceRange {
    uint32_t first = 0;       // counted from the beginning of the sequence
    uint32_t count = 0;       // rows or keys
    uint32_t packedFirst = 0; // counted from the beginning of all packed sequences; `first` without them
};

// A part of the rows or of the keys of all sequences. With packed sequences it has a range of each sequence, one after
// the other. Otherwise it has one range, which is the same for all sequences.
struct Chunk {
    std::vector<SequenceRange> ranges;
    uint32_t rows = 0; // of all ranges
};

// The chunks of a rank, in the order in which its tensors hold them.
struct Part {
    std::vector<Chunk> rows; // of q, o, lse and their gradients
    std::vector<Chunk> keys; // of k, v and their gradients
};

// What rank `rank` of `ranks` holds. Not collective. `problem` is that of the whole call.
//
// Throws Error: VKF_ERROR_INVALID_ARGUMENT (lengths that the problem has are null, or vkfCheckSequences refuses them).
Part partOf(const VkfProblem& problem, Distribution distribution, const Lengths& lengths, uint32_t ranks,
            uint32_t rank);

// Rows that follow each other both in a part and in a tensor of the whole call.
struct RowRun {
    uint64_t first = 0; // number of the first row in the whole dense [batch, heads, rows, dim], counted over all heads
    uint64_t count = 0;
};

// The rows of a tensor of a part, in their order: Part::rows or Part::keys, with the sequences, heads and rows of the
// whole tensor. The batch of packed tensors is 1. Not collective.
std::vector<RowRun> runsOf(const std::vector<Chunk>& chunks, uint64_t batch, uint64_t heads, uint64_t rows);

// The method that Method::automatic stands for, and the reason in one sentence.
struct MethodChoice {
    Method method = Method::ring;
    std::string reason;
};

// Chooses a method. Not collective.
// - The exchange is chosen where KV heads divide by the ranks, and where it moves less than half of the bytes of the
//   ring.
// - Otherwise the ring is chosen, whose copies hide behind kernels.
MethodChoice chooseMethod(const VkfProblem& problem, const Split& split, uint32_t ranks);

// The groups of heads that Split::headGroups of 0 stands for, in a forward or a backward pass. Not collective.
//
// Throws Error: VKF_ERROR_INVALID_ARGUMENT and VKF_ERROR_UNSUPPORTED (Split::headGroups does not suit the call).
uint32_t chooseHeadGroups(const VkfProblem& problem, const Split& split, uint32_t ranks, bool backward);

// Bytes a second on each part of a block's way. 0 = the way has no such part.
struct LinkSpeed {
    double toHost = 0;     // from the device to memory of the host
    double messages = 0;   // by MPI to the next rank; 0 with shared memory
    double toDevice = 0;   // from memory of the host, or of the rank before, to the device
    double bothWays = 0;   // to the host and to the device at the same time, each way
    bool isShared = false; // whether blocks travel through shared memory that the devices read and write
    // The slowest of the parts that a block passes in each step of the ring. In shared memory, a rank copies its block
    // to the host once and then other blocks to the device. Two ranks do both at the same time.
    double slowest = 0;
};

class State; // what Ranks, Attention and Backward share

// The ranks of a communicator, each with a device. Copies share it.
class Ranks {
public:
    // Opens a device on each rank. Without DeviceOptions::select, ranks of one node take its devices in turn: local
    // rank modulo the number of devices of the best kind. The communicator is duplicated.
    //
    // Throws Error: those of host::Device; VKF_ERROR_INVALID_ARGUMENT (ranks have different versions of the library).
    explicit Ranks(MPI_Comm communicator, const host::DeviceOptions& options = {});

    int rank() const noexcept;                                 // not collective
    int size() const noexcept;                                 // not collective
    const host::DeviceSummary& deviceSummary() const noexcept; // not collective
    uint64_t validationMessageCount() const noexcept;          // not collective
    // How many ranks use the device of this rank, this one included. Not collective.
    uint32_t ranksOnDevice() const noexcept;
    // Whether a rank has failed or died while others waited for it, so that the ranks must end. Not collective.
    bool hasFailed() const noexcept;
    uint64_t peakBytes() const noexcept; // most device memory in use so far; not collective
    void resetPeakBytes() noexcept;      // sets peakBytes() to what is in use; not collective
    // Calls `work` on each rank, which throws an Error on every rank if it does so on one.
    void together(const std::function<void()>& work) const;
    // Measures how fast a block of `bytes` bytes travels from each rank to the next, all ranks at once. The ring's
    // blocks take the same way with this transport.
    LinkSpeed measureLink(uint64_t bytes, Transport transport = Transport::automatic);

private:
    friend class Attention;
    friend class Backward;
    friend class Decode;
    std::shared_ptr<State> state_;
};

// Host memory of the part of one rank. Each tensor holds the rank's chunks one after the other, without gaps. Within a
// chunk, q is dense [batch, queryHeads, rows, headDim], k is dense [batch, kvHeads, keys, headDim], lse is dense
// [batch, queryHeads, rows]; with packed sequences without the batch.
struct PartInputs {
    const void* q = nullptr;
    const void* k = nullptr;
    const void* v = nullptr;
    const float* alibiSlopes = nullptr; // [queryHeads], with VKF_USE_ALIBI_SLOPES; the same on all ranks
};
struct PartOutputs {
    void* o = nullptr;
    float* lse = nullptr; // null = not wanted
};

// Called now and then during a run, with the share of this rank's kernels that have finished: 0 to 1.
using Progress = std::function<void(double share)>;

// What a run did on this rank.
struct RunReport {
    double seconds = 0;     // of the run, on this rank
    double waited = 0;      // of it, seconds in which kernels waited for other ranks or copies
    uint64_t sentBytes = 0; // to other ranks
    uint32_t computed = 0;  // pairs of a chunk of rows and a chunk of keys that were computed
};

// Attention over the ranks.
//
// `problem` is the whole call: queryRows and keys count the rows and keys of all ranks. Strides are 0: parts are dense.
// Types, heads, scale, softcap, causal, window, ALiBi, key lengths and packed sequences work as in VkfProblem.
// Everything else is refused: bits of `use` without a meaning here, window.firstKeys, dropout, block types, and
// ALiBi with masks of VKF_ALIGNMENT_TOP_LEFT.
class Attention {
public:
    // Creates plans and buffers.
    //
    // Throws Error: VKF_ERROR_INVALID_ARGUMENT and VKF_ERROR_UNSUPPORTED, as above; VKF_ERROR_OUT_OF_DEVICE_MEMORY.
    Attention(Ranks& ranks, const VkfProblem& problem, const Split& split, const Lengths& lengths);
    Attention(Attention&&) noexcept;
    Attention& operator=(Attention&&) noexcept;
    ~Attention();

    const Part& part() const noexcept; // what this rank holds; not collective
    const MethodChoice& method() const noexcept;
    // Type in which p enters products on this rank, for the reference; not collective.
    VkfType productType() const noexcept;
    std::string description() const; // of the plan of this rank, in one line; not collective
    void upload(const PartInputs& inputs);
    RunReport run(const Progress& progress = {});
    // Not collective.
    void download(const PartOutputs& outputs);

private:
    friend class Backward;
    class Impl;
    std::unique_ptr<Impl> impl_;
};

// Host memory of the part of one rank in a backward pass, besides the PartInputs of its forward call. Layouts are those
// of PartInputs.
struct PartGradientInputs {
    const void* o = nullptr;    // output of the forward call, in the type of VkfProblem::o
    const float* lse = nullptr; // output of the forward call
    const void* dout = nullptr; // gradient of o, in the type of VkfBackwardProblem::dout
};
// Null = not wanted.
struct PartGradients {
    void* dq = nullptr;
    void* dk = nullptr;
    void* dv = nullptr;
};

// The backward pass over the ranks. With the ring, k and v go round as in the forward pass, and so do the gradients of
// k and v in fp32, to which each rank adds its own. They return to the rank that holds the keys. dq stays on its rank.
//
// `problem` is the whole call, with the rules of Attention. Gradients are those of q, k and v, all three. Types of
// dout, dq, dk and dv are F32, F16 or BF16, and their strides are 0. VKF_USE_DLSE is refused.
class Backward {
public:
    // Creates backward passes and buffers. Errors as for Attention.
    Backward(Ranks& ranks, const VkfBackwardProblem& problem, const Split& split, const Lengths& lengths);
    Backward(Backward&&) noexcept;
    Backward& operator=(Backward&&) noexcept;
    ~Backward();

    const Part& part() const noexcept; // what this rank holds; not collective
    const MethodChoice& method() const noexcept;
    VkfType productType() const noexcept; // as that of Attention
    std::string description() const;      // not collective
    void upload(const PartInputs& inputs, const PartGradientInputs& gradients);
    RunReport run(const Progress& progress = {});
    // Not collective.
    void download(const PartGradients& outputs);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

// Which rank holds a key of a cache of `keys` keys over P ranks.
// - contiguous: rank r holds the keys from r keys / P on, rounded down.
// - striped: rank r holds the keys r, r + P, r + 2 P, ... so that a growing cache stays even.
enum class Deal { contiguous, striped };

// How many keys of a cache rank `rank` holds. Not collective.
uint32_t keysDealt(Deal deal, uint32_t keys, uint32_t ranks, uint32_t rank);
// The first of them. Each next one is one key further, or as many as there are ranks where keys are striped. Not
// collective.
uint32_t firstKeyDealt(Deal deal, uint32_t keys, uint32_t ranks, uint32_t rank);

// New rows over a cache that is dealt to the ranks. Every rank gets all rows of q, computes them over its keys, and has
// the whole o in the end: one gathering of (o, lse) and a merge.
//
// `problem` is the whole call; `keys` is the capacity of the whole cache. Rules are those of Attention, but packed
// sequences are refused.
class Decode {
public:
    Decode(Ranks& ranks, const VkfProblem& problem, Deal deal);
    Decode(Decode&&) noexcept;
    Decode& operator=(Decode&&) noexcept;
    ~Decode();

    VkfType productType() const noexcept; // as that of Attention
    std::string description() const;      // not collective
    // The cache of this rank: dense [batch, kvHeads, keysDealt(...), dim].
    void uploadCache(const void* k, const void* v);
    // All rows of q, dense; the lengths of the whole cache, with VKF_USE_KEY_LENGTHS; slopes, with
    // VKF_USE_ALIBI_SLOPES.
    void uploadRows(const void* q, const int32_t* keyLengths = nullptr, const float* alibiSlopes = nullptr);
    RunReport run();
    // The whole o and lse, dense. Null = not wanted. Not collective.
    void download(void* o, float* lse);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace vkf::mpi

#endif
