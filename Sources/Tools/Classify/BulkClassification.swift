internal import CSystem
internal import FlowControl
internal import Glibc
internal import Inference
internal import InferenceService
package import Settings
internal import SystemSupport

/// Classifies a list of pictures that comes as lines: what `ocelli classify --jsonl` does.
///
/// Answers are lines of JSON in the order of the list, one for each picture, errors too. A few pictures are in work at once,
/// and no more are read or held than that.
package struct BulkClassification {
    package var request: LocalClassification.Request
    /// The file with the list; nil or "-" for standard input.
    package var list: String?
    /// The file that answers go to, and that says where to continue; nil writes them to `output`.
    package var resume: String?
    package var settings: Settings
    package var output: (String) -> Void
    /// True if `output` is no longer read.
    package var isOutputLost: () -> Bool
    package var progress: (String) -> Void

    package init(
        request: LocalClassification.Request, list: String?, resume: String?, settings: Settings,
        output: @escaping (String) -> Void, isOutputLost: @escaping () -> Bool, progress: @escaping (String) -> Void
    ) {
        self.request = request
        self.list = list
        self.resume = resume
        self.settings = settings
        self.output = output
        self.isOutputLost = isOutputLost
        self.progress = progress
    }

    private enum Step: Sendable {
        case read([PictureList.Entry], PictureList)
        case answered(Int, String, failed: Bool)
    }

    /// Reads the list until its end.
    /// - Returns: how many pictures failed in this run.
    /// - Throws: `StartupError` where the list or the answers cannot be opened, read or written.
    package func run() async throws -> Int {
        let source = try open()
        defer { if source != STDIN_FILENO { _ = csys_close(source) } }
        let answers = try resume.map { path throws(StartupError) in try AnswerFile(path) }
        let classifier = try await LocalClassification.classifier(request, settings: settings, progress: progress)
        let width = classifier.model.limiter.snapshot.limit + 2
        var waiting: [PictureList.Entry] = []
        var number = 0, started = 0, written = 0, failed = 0
        var finished: [Int: String] = [:]
        var problem: (any Error)?
        var unread: String?
        let begin = MonotonicInstant.now
        await withTaskGroup(of: Step.self) { group in
            var list: PictureList? = PictureList(descriptor: source)
            var isReading = false
            while problem == nil {
                while !waiting.isEmpty, started - written < width {
                    let entry = waiting.removeFirst()
                    let index = started
                    started += 1
                    group.addTask { await Self.answer(index, entry, classifier) }
                }
                if let next = list, !isReading, waiting.isEmpty {
                    isReading = true
                    group.addTask {
                        let (entries, rest) = await next.reading()
                        return .read(entries, rest)
                    }
                }
                guard let step = await group.next() else { break }
                do {
                    switch step {
                    case .read(let entries, let rest):
                        isReading = false
                        unread = rest.failure
                        list = rest.isAtEnd ? nil : rest
                        for entry in entries {
                            number += 1
                            if try isDone(number, entry, answers) { continue }
                            waiting.append(entry)
                        }
                    case .answered(let index, let line, let hasFailed):
                        finished[index] = line
                        if hasFailed { failed += 1 }
                        while let line = finished.removeValue(forKey: written) {
                            written += 1
                            if let answers { try answers.append(line) } else { output(line) }
                        }
                        if answers == nil, isOutputLost() { list = nil; waiting = [] }
                        tell(written, failed, since: begin)
                    }
                } catch {
                    problem = error
                }
            }
            group.cancelAll()
        }
        progress("")
        if let problem { throw problem }
        if let unread { throw StartupError("\(listName) cannot be read completely: \(unread)") }
        if let answers, number < answers.count {
            throw StartupError(
                "\(resume ?? "") has \(answers.count) answers, and the list \(number) pictures: is it another list?")
        }
        return failed
    }

    private var listName: String { list == nil || list == "-" ? "standard input" : list ?? "" }

    /// Opens the list.
    private func open() throws(StartupError) -> Int32 {
        guard let list, list != "-" else { return STDIN_FILENO }
        let descriptor = Glibc.open(list, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StartupError("\(list) cannot be read: \(SystemError.words(errno))") }
        return descriptor
    }

    /// True if an earlier run has answered a picture. The last that it answered must be the list's.
    private func isDone(
        _ number: Int, _ entry: PictureList.Entry, _ answers: AnswerFile?
    ) throws(StartupError) -> Bool {
        guard let answers, number <= answers.count else { return false }
        if number == answers.count, let last = answers.lastFile, last != entry.name {
            throw StartupError(
                "\(resume ?? "") does not belong to this list: its answer \(number) is of \"\(last)\", the list has \"\(entry.name)\""
            )
        }
        return true
    }

    private func tell(_ written: Int, _ failed: Int, since begin: MonotonicInstant) {
        let seconds = Double(MonotonicInstant.now.nanoseconds(since: begin)) / 1e9
        let rate = Units.decimal(Double(written) / max(seconds, 0.001), places: 1)
        progress("\(written) done, \(failed) failed, \(rate)/s")
    }

    private static func answer(
        _ index: Int, _ entry: PictureList.Entry, _ classifier: LocalClassification.Classifier
    ) async -> Step {
        switch entry.path {
        case .failure(let mistake):
            let error = StartupError(mistake.reason)
            return .answered(index, LocalClassification.failure(error, file: entry.name), failed: true)
        case .success(let path):
            do {
                return .answered(index, try await classifier.line(of: path), failed: false)
            } catch {
                return .answered(index, LocalClassification.failure(error, file: path), failed: true)
            }
        }
    }
}
