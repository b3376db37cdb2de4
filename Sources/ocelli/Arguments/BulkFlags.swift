internal import FoundationEssentials
internal import InferenceService
internal import Settings
internal import Tools

/// The flags of bulk runs, common to `classify`, `detect`, `segment`, `keypoints`, `embed` and `read`.
struct BulkFlags {
    var isRequested = false
    var resume: String?
    var shard: String?
    var shards: String?

    /// The usage line.
    static let usage = "--jsonl [SOURCE...] [--resume FILE] [--shard I/N] [--model MODEL] [--models DIR] [SETTINGS]"

    /// The rows of the flags, for a command whose request has them at `path`.
    static func flags<Request>(_ path: WritableKeyPath<Request, BulkFlags>) -> [Flag<Request>] {
        [
            .toggle(
                "--jsonl", path.appending(path: \.isRequested),
                """
                Answer many pictures, with a line of JSON for each, errors too. A SOURCE is a picture, a folder (with the \
                folders in it), a .tar archive, or a list: a file with a path, or {"path": ...}, on each line. Default: a list from standard input.
                """),
            .text(
                "--resume", "FILE", path.appending(path: \.resume),
                """
                With --jsonl: append the lines to FILE, and skip the pictures that it has already, unless their bytes changed. \
                After a kill, run the same command again: no line is lost or twice. A FILE of another model or of other settings \
                is refused (exit status 2).
                """),
            .text(
                "--shard", "I/N", path.appending(path: \.shard),
                "With --jsonl: only part I, from 0, of N, by the pictures' names."),
            .text(
                "--shards", "N", path.appending(path: \.shards),
                "Like --shard, with I from JOB_COMPLETION_INDEX, which Kubernetes sets in indexed Jobs."),
        ]
    }

    /// Runs a task over the sources, if a bulk run is requested.
    /// - Parameter npy: a file for embeddings.
    /// - Returns: the exit status; nil if no bulk run is requested.
    func run(
        _ task: BulkTask, sources: [String], npy: String? = nil, settings: SettingsFlags
    ) async throws -> Int32? {
        guard isRequested else {
            for (flag, value) in [("--resume", resume), ("--shard", shard), ("--shards", shards)] where value != nil {
                throw UsageError("\(flag) goes with --jsonl")
            }
            return nil
        }
        guard npy == nil || resume != nil else {
            throw UsageError("--npy with --jsonl needs --resume FILE: a row of it belongs to each line of FILE")
        }
        guard shard == nil || shards == nil else { throw UsageError("--shard and --shards exclude each other") }
        var request = BulkJob.Request()
        (request.sources, request.resume, request.npy) = (sources, resume, npy)
        if let shard { request.shard = try BulkShard(shard) }
        if let shards {
            let index = ProcessInfo.processInfo.environment["JOB_COMPLETION_INDEX"]
            request.shard = try BulkShard(index: index, count: shards)
        }
        let bulk = BulkJob(
            request, task: task, settings: try settings.resolve(), output: Terminal.print,
            isOutputLost: { Terminal.isOutputLost }, progress: Terminal.progress)
        return try await bulk.run() == 0 ? 0 : 1
    }
}
