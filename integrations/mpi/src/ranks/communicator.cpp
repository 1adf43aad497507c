// SPDX-License-Identifier: MIT
#include "ranks/communicator.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <thread>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace vkf::mpi {
namespace {

std::string onRank(int rank, const std::string& text) { return "rank " + std::to_string(rank) + ": " + text; }

#if defined(__unix__) || defined(__APPLE__)
int64_t ownProcess() { return getpid(); }

bool isAlive(int64_t process) { return kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM; }
#else
int64_t ownProcess() { return 0; }

bool isAlive(int64_t) { return true; }
#endif

// FNV-1a. It only has to notice accidental differences.
uint64_t hashOf(const std::string& text) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const char letter : text) {
        hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
    }
    return hash;
}

std::string linesOf(const Agreement& values) {
    std::string text;
    for (const auto& [name, value] : values) {
        text.append(name).append("=").append(value).append("\n");
    }
    return text;
}

// The first line that differs.
std::pair<std::string, std::string> differenceOf(const std::string& a, const std::string& b) {
    size_t i = 0;
    for (size_t j = 0; j < a.size() && j < b.size() && a[j] == b[j]; ++j) {
        i = a[j] == '\n' ? j + 1 : i;
    }
    return {a.substr(i, a.find('\n', i) - i), b.substr(i, b.find('\n', i) - i)};
}

} // namespace

void checkMpi(int result, const char* call) {
    if (result == MPI_SUCCESS) {
        return;
    }
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(result, text.data(), &length);
    throw host::Error(VKF_ERROR_VULKAN, std::string(call) + " failed: " + text.data());
}

Communicator::Communicator(MPI_Comm parent) {
    checkMpi(MPI_Comm_dup(parent, &tensors_), "MPI_Comm_dup");
    checkMpi(MPI_Comm_dup(parent, &failures_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(tensors_, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(failures_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(tensors_, &rank_);
    MPI_Comm_size(tensors_, &size_);
    MPI_Comm node = MPI_COMM_NULL;
    checkMpi(MPI_Comm_split_type(tensors_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
    MPI_Comm_rank(node, &localRank_);
    MPI_Comm_size(node, &nodeSize_);
    checkMpi(MPI_Allreduce(&rank_, &node_, 1, MPI_INT, MPI_MIN, node), "MPI_Allreduce");
    findNeighbours(node);
    MPI_Comm_free(&node);
}

Communicator::~Communicator() {
    int finished = 0;
    MPI_Finalized(&finished);
    // After a failure, the ranks do not meet again, which MPI_Comm_free may wait for.
    if (finished == 0 && announced_.empty()) {
        MPI_Comm_free(&failures_);
        MPI_Comm_free(&tensors_);
    }
}

std::string Communicator::broadcast(std::string text, int from) const {
    auto bytes = static_cast<uint64_t>(text.size());
    checkMpi(MPI_Bcast(&bytes, 1, MPI_UINT64_T, from, tensors_), "MPI_Bcast");
    text.resize(bytes);
    checkMpi(MPI_Bcast(text.data(), static_cast<int>(bytes), MPI_CHAR, from, tensors_), "MPI_Bcast");
    return text;
}

// Looks at the other ranks while it waits, because MPI itself may wait forever for a rank that has died.
std::vector<int64_t> Communicator::gathered(int64_t own) const {
    const auto count = static_cast<size_t>(size_);
    std::vector<int64_t> numbers(count + 1, own);
    MPI_Request request = MPI_REQUEST_NULL;
    checkMpi(MPI_Iallgather(&numbers[count], 1, MPI_INT64_T, numbers.data(), 1, MPI_INT64_T, tensors_, &request),
             "MPI_Iallgather");
    try {
        constexpr int busyLooks = 2000;
        int done = 0;
        for (int looks = 0; done == 0; ++looks) {
            checkMpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
            if (done == 0 && looks > busyLooks) {
                checkOthers();
                std::this_thread::sleep_for(std::chrono::microseconds(50));
            }
        }
    } catch (...) {
        abandoned_.push_back(std::move(numbers));
        throw;
    }
    numbers.pop_back(); // NOLINT(clang-analyzer-optin.mpi.MPI-Checker): MPI_Test has completed the request
    return numbers;
}

bool Communicator::allHave(bool condition) const {
    const std::vector<int64_t> all = gathered(condition ? 1 : 0);
    return std::all_of(all.begin(), all.end(), [](int64_t each) { return each != 0; });
}

void Communicator::together(const std::function<void()>& work) const {
    std::string text;
    int32_t code = VKF_SUCCESS;
    try {
        work();
    } catch (const host::Error& error) {
        text = error.what();
        code = error.result();
    } catch (const std::bad_alloc&) {
        text = "out of host memory";
        code = VKF_ERROR_OUT_OF_HOST_MEMORY;
    } catch (const std::exception& error) {
        text = error.what();
        code = VKF_ERROR_VULKAN;
    }
    const std::vector<int64_t> codes = gathered(code);
    const auto failed = std::find_if(codes.begin(), codes.end(), [](int64_t each) { return each != VKF_SUCCESS; });
    if (failed != codes.end()) {
        const auto first = static_cast<int>(failed - codes.begin());
        throw host::Error(static_cast<VkfResult>(*failed), onRank(first, broadcast(text, first)));
    }
}

void Communicator::agree(const Agreement& values) const {
    const std::string text = linesOf(values);
    const std::vector<int64_t> hashes = gathered(static_cast<int64_t>(hashOf(text)));
    const auto other = std::find_if(hashes.begin(), hashes.end(), [&](int64_t each) { return each != hashes[0]; });
    if (other == hashes.end()) {
        return;
    }
    const auto rank = static_cast<int>(other - hashes.begin());
    const std::string first = broadcast(text, 0);
    const auto [here, there] = differenceOf(first, broadcast(text, rank));
    throw host::Error(VKF_ERROR_INVALID_ARGUMENT,
                      "the ranks differ: rank 0 has " + here + ", rank " + std::to_string(rank) + " has " + there);
}

void Communicator::guarded(const std::function<void()>& work) {
    try {
        work();
    } catch (const host::Error& error) {
        announce(error.what());
        throw host::Error(error.result(),
                          std::string(error.what()).starts_with("rank ") ? error.what() : onRank(rank_, error.what()));
    } catch (const std::bad_alloc&) {
        announce("out of host memory");
        throw;
    } catch (...) {
        announce("an exception of the caller's"); // of a callback
        throw;
    }
}

void Communicator::announce(const std::string& text) {
    if (!announced_.empty() || text.starts_with("rank ")) {
        announced_ = text;
        return; // the failure is that of another rank, which announces it
    }
    announced_ = text;
    for (int to = 0; to < size_; ++to) {
        if (to != rank_) {
            announcements_.push_back(MPI_REQUEST_NULL);
            MPI_Isend(announced_.data(), static_cast<int>(announced_.size()), MPI_CHAR, to, 0, failures_,
                      &announcements_.back());
        }
    }
}

void Communicator::findNeighbours(MPI_Comm node) {
    const Neighbour own{rank_, ownProcess()};
    std::vector<Neighbour> all(static_cast<size_t>(nodeSize_));
    checkMpi(MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, node), "MPI_Allgather");
    // In containers with processes of their own, numbers mean nothing.
    if (std::all_of(all.begin(), all.end(), [](const Neighbour& each) { return isAlive(each.process); })) {
        neighbours_ = std::move(all);
    }
}

// The ranks do not meet again after this.
void Communicator::failAs(int rank, const std::string& text) const {
    announced_ = onRank(rank, text);
    throw host::Error(VKF_ERROR_DEVICE_LOST, announced_);
}

void Communicator::checkNeighbours() const {
    constexpr std::chrono::milliseconds pause(200);
    const auto now = std::chrono::steady_clock::now();
    if (now - lookedAtNeighbours_ < pause) {
        return;
    }
    lookedAtNeighbours_ = now;
    for (const Neighbour& each : neighbours_) {
        if (!isAlive(each.process)) {
            failAs(each.rank, "its process has died");
        }
    }
}

void Communicator::checkOthers() const {
    checkNeighbours();
    int there = 0;
    MPI_Status status{};
    checkMpi(MPI_Iprobe(MPI_ANY_SOURCE, 0, failures_, &there, &status), "MPI_Iprobe");
    if (there == 0) {
        return;
    }
    int length = 0;
    MPI_Get_count(&status, MPI_CHAR, &length);
    std::string text(static_cast<size_t>(length), ' ');
    checkMpi(MPI_Recv(text.data(), length, MPI_CHAR, status.MPI_SOURCE, 0, failures_, MPI_STATUS_IGNORE), "MPI_Recv");
    failAs(status.MPI_SOURCE, text);
}

} // namespace vkf::mpi
