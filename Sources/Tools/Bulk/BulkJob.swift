internal import FlowControl
internal import FoundationEssentials
internal import Inference
package import Settings
internal import SystemSupport

/// Answers pictures from folders, archives and lists: `ocelli classify --jsonl` and similar commands.
///
/// Answers, including errors, are lines of JSON in the order of the sources, one per picture. Only a few pictures are
/// processed, read and held at the same time.
package struct BulkJob {
    /// The pictures and files of a run.
    package struct Request: Sendable {
        package var sources: [String] = []
        /// The file for the answers, which also shows what is answered already; nil to write answers to `output`.
        package var resume: String?
        /// A file for the embeddings of all lines in `resume`.
        package var npy: String?
        package var shard: BulkShard?

        package init() {}
    }

    package var request: Request
    package var task: BulkTask
    package var settings: Settings
    package var output: (String) -> Void
    /// True if `output` is no longer read.
    package var isOutputLost: () -> Bool
    package var progress: (String) -> Void

    package init(
        _ request: Request, task: BulkTask, settings: Settings, output: @escaping (String) -> Void,
        isOutputLost: @escaping () -> Bool, progress: @escaping (String) -> Void
    ) {
        self.request = request
        self.task = task
        self.settings = settings
        self.output = output
        self.isOutputLost = isOutputLost
        self.progress = progress
    }

    private enum Step: Sendable {
        case read([BulkPicture], PictureSources)
        case answered(Int, Answer)
        case counted(Int?)
    }

    private struct Answer: Sendable {
        let file: String
        let digest: String?
        /// The line; nil for a picture that was answered before.
        let line: String?
        var hasFailed = false
    }

    /// Runs until the end of the sources.
    ///
    /// Long: one loop decides what to start, read and write next, and its whole state is visible here.
    /// - Returns: the number of pictures that failed in this run.
    /// - Throws: `CommandError` if the sources or the answers cannot be opened, read or written.
    package func run() async throws -> Int {
        try PictureSources.check(request.sources)
        let answerer = try await task.answerer(settings: settings, progress: progress)
        let answers = try request.resume.map { path throws(CommandError) in try AnswerFile(path, run: answerer.run) }
        let width = answerer.model.limiter.snapshot.limit + 2
        let maximum = settings.maxBody
        var waiting: ArraySlice<BulkPicture> = []
        var started = 0, written = 0
        var begun: Set<AnswerFile.Name> = []
        var finished: [Int: Answer] = [:]
        var problem: (any Error)?
        var unread: String?
        var progress = BulkProgress(write: progress)
        await withTaskGroup(of: Step.self) { group in
            var sources: PictureSources? = PictureSources(request.sources, shard: request.shard)
            let (named, shard) = (request.sources, request.shard)
            group.addTask { .counted(await LoaderThread.run { PictureSources.count(named, shard: shard) }) }
            var isReading = false
            while problem == nil {
                while started - written < width, let picture = waiting.popFirst() {
                    var before: AnswerFile.Digest?
                    if let answers {
                        // One line per name: a repeated name in a list is skipped.
                        let name = AnswerFile.Name(picture.name)
                        guard begun.insert(name).inserted else { continue }
                        before = answers.answered[name] ?? nil
                    }
                    let index = started
                    started += 1
                    group.addTask { .answered(index, await Self.answer(picture, before, answerer, maximum: maximum)) }
                }
                if let next = sources, !isReading, waiting.isEmpty {
                    isReading = true
                    group.addTask {
                        let (pictures, rest) = await next.reading()
                        return .read(pictures, rest)
                    }
                }
                // At the end, do not wait for the task that counts the pictures.
                if sources == nil, !isReading, waiting.isEmpty, started == written { break }
                guard let step = await group.next() else { break }
                do {
                    switch step {
                    case .counted(let total): progress.total = total
                    case .read(let pictures, let rest):
                        isReading = false
                        unread = rest.failure
                        sources = rest.isAtEnd ? nil : rest
                        waiting = pictures[...]
                    case .answered(let index, let answer):
                        finished[index] = answer
                        while let answer = finished.removeValue(forKey: written) {
                            written += 1
                            progress.add(hasFailed: answer.hasFailed, wasSkipped: answer.line == nil)
                            guard let line = answer.line else { continue }
                            if let answers {
                                try answers.append(line, file: answer.file, digest: answer.digest)
                            } else {
                                output(line)
                            }
                        }
                        if answers == nil, isOutputLost() { sources = nil; waiting = [] }
                    }
                } catch {
                    problem = error
                }
            }
            group.cancelAll()
        }
        progress.end()
        if let problem { throw problem }
        try answers?.compact()
        if let unread { throw CommandError(unread) }
        if let npy = request.npy { try answers?.writeVectors(to: npy) }
        return progress.failed
    }

    private static func answer(
        _ picture: BulkPicture, _ before: AnswerFile.Digest?, _ answerer: BulkTask.Answerer, maximum: Int
    ) async -> Answer {
        // The file is read on a thread that may block.
        let read = await LoaderThread.run { () -> Result<([UInt8], String), CommandError> in
            Result { () throws(CommandError) in
                let bytes = try picture.read(maximum: maximum)
                return (bytes, "sha256:" + SHA256.text(SHA256.digest(bytes)))
            }
        }
        var head = AnswerHead(file: picture.name, run: answerer.run)
        do {
            let (bytes, digest) = try read.get()
            if let before, before == AnswerFile.Digest(digest) {
                return Answer(file: picture.name, digest: digest, line: nil)
            }
            head.digest = digest
            return Answer(file: picture.name, digest: digest, line: try await answerer.line(bytes, head))
        } catch {
            let line = LocalClassification.failure(error, head: head)
            return Answer(file: picture.name, digest: head.digest, line: line, hasFailed: true)
        }
    }
}
