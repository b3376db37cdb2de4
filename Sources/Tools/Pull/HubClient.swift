internal import Glibc
internal import SystemSupport

/// Sends the requests of a pull, with redirects and repetitions. For one thread.
final class HubClient {
    private let curl: CurlSession
    private let access: HubAccess
    private let progress: (String) -> Void

    private static let maximumRedirects = 10

    /// - Parameter progress: called with a line that the next one replaces.
    init(access: HubAccess, progress: @escaping (String) -> Void) throws(CommandError) {
        (curl, self.access, self.progress) = (try CurlSession(), access, progress)
    }

    /// The way of one request through redirects.
    private func request(
        _ start: WebAddress, from offset: Int = 0, unless changed: String? = nil, isHead: Bool = false,
        take: @escaping (HubAnswer, UnsafeRawBufferPointer) -> Bool
    ) throws(CommandError) -> CurlSession.Result {
        var address = start
        for _ in 0...Self.maximumRedirects {
            var fields = ["Accept: */*", "Accept-Encoding: identity", "User-Agent: ocelli/\(OcelliVersion.number)"]
            if offset > 0 { fields.append("Range: bytes=\(offset)-") }
            if offset > 0, let changed { fields.append("If-Range: \(changed)") }
            if let authorization = access.authorization(for: address, start: start) {
                fields.append("Authorization: \(authorization)")
            }
            let result = curl.perform(address, fields: fields, isHead: isHead, access: access) { answer, piece in
                // Bodies of redirects are short texts, if anything.
                answer.location != nil || take(answer, piece)
            }
            guard result.code == 0, let location = result.answer.location else { return result }
            guard let next = address.resolving(location) else {
                throw CommandError(
                    "\(start.shown): the server redirects to something that is no address of http or https")
            }
            guard access.allows(redirectOf: start, to: next) else {
                throw CommandError("\(start.shown): the server redirects to \(next.shown), which is not https: refused")
            }
            address = next
        }
        throw CommandError("\(start.shown): the server redirects more than \(Self.maximumRedirects) times")
    }

    private func wait(_ seconds: Double, _ address: WebAddress, _ reason: String) {
        progress("\(address.host): \(access.hidingSecrets(reason)); the next attempt is in \(seconds) s")
        usleep(UInt32(min(seconds, 30) * 1_000_000))
    }

    /// The error for a request that failed for good.
    private func failure(_ name: String, _ result: CurlSession.Result) -> CommandError {
        let reason = access.hidingSecrets(result.reason)
        let help =
            [35, 51, 58, 60, 77, 83, 90, 91].contains(result.code)
            ? " (SSL_CERT_FILE names the trusted certificates)" : ""
        return CommandError("\(name): \(result.isStalled ? "no progress for \(access.stallSeconds) s" : reason)\(help)")
    }

    // MARK: Whole answers

    /// A short answer and its body. Blocks.
    /// - Parameter maximum: the maximum size of the body in bytes.
    func read(_ address: WebAddress, maximum: Int) throws(CommandError) -> (answer: HubAnswer, body: [UInt8]) {
        var attempts = RetryCount()
        while true {
            var body: [UInt8] = []
            var isTooLarge = false
            let result = try request(address) { _, piece in
                isTooLarge = body.count + piece.count > maximum
                if !isTooLarge { body += piece }
                return !isTooLarge
            }
            if isTooLarge { throw CommandError("\(address.shown): the answer has more than \(maximum) bytes") }
            if result.code == 0, !result.answer.isPassing { return (result.answer, body) }
            guard result.code == 0 || result.isPassing else { throw failure(address.shown, result) }
            guard let seconds = attempts.failed(isStalled: result.isStalled, pause: result.answer.pause) else {
                if result.code == 0 { return (result.answer, body) }
                throw failure(address.shown, result)
            }
            wait(seconds, address, result.code == 0 ? "status \(result.answer.status)" : result.reason)
        }
    }

    /// The head of the answer with a file, for its length. Blocks.
    func head(_ address: WebAddress) throws(CommandError) -> HubAnswer {
        var attempts = RetryCount()
        var isHead = true
        while true {
            var first: HubAnswer?
            let result = try request(address, isHead: isHead) { answer, _ in
                first = answer
                return !answer.isSuccess
            }
            if result.code == 0 || first?.isSuccess == true {
                if result.answer.isSuccess { return result.answer }
                // Signed addresses allow one method only.
                if isHead, [400, 403, 405, 501].contains(result.answer.status) {
                    isHead = false
                    continue
                }
                if !result.answer.isPassing { return result.answer }
            } else if !result.isPassing {
                throw failure(address.shown, result)
            }
            guard let seconds = attempts.failed(isStalled: result.isStalled, pause: result.answer.pause) else {
                if result.code == 0 { return result.answer }
                throw failure(address.shown, result)
            }
            wait(seconds, address, result.code == 0 ? "status \(result.answer.status)" : result.reason)
        }
    }

    // MARK: Files

    /// Receives the rest of a file. Blocks.
    /// - Parameters:
    ///   - name: the file for messages.
    ///   - changed: the validator of the file for `If-Range`; nil if its address never changes.
    ///   - refusal: the error for a final status.
    ///   - received: called with the number of bytes on disk.
    func receive(
        _ part: PartFile, from address: WebAddress, name: String, changed: String? = nil,
        refusal: (HubAnswer) -> CommandError, received: @escaping (Int) -> Void
    ) throws(CommandError) {
        var transfer = FileTransfer(size: part.size, have: part.count)
        while part.count < part.size {
            var use: FileTransfer.Use?
            var problem: CommandError?
            let result = try request(address, from: transfer.offset, unless: changed) { answer, piece in
                if use == nil {
                    use = transfer.use(of: answer)
                    if case .write(from: 0)? = use, part.count > 0 {
                        problem = Self.attempt { () throws(CommandError) in try part.restart() }
                    }
                }
                guard case .write? = use, problem == nil else { return false }
                problem = Self.attempt { () throws(CommandError) in try part.append(piece) }
                if problem == nil { received(part.count) }
                return problem == nil
            }
            if let problem { throw CommandError("\(name) \(problem)") }
            // An answer without a body, or a failure before one.
            let meaning = use ?? (result.code == 0 ? transfer.use(of: result.answer) : nil)
            var reason = result.reason
            switch meaning {
            case .refused?: throw refusal(result.answer)
            case .contradiction(let text)?: throw CommandError("\(name): \(text), and \(part.size) are stated: refused")
            case .restart?:
                try part.restart()
                transfer.restart()
                continue
            case .retry(let text)?: reason = text
            case .write?, nil:
                guard result.code == 0 || result.isPassing else { throw failure(name, result) }
                if result.code == 0 { reason = "the answer ends after \(part.count) of \(part.size) bytes" }
            }
            guard part.count < part.size else { return }
            let seconds = transfer.failed(at: part.count, isStalled: result.isStalled, pause: result.answer.pause)
            guard let seconds else {
                if result.isStalled { throw failure(name, result) }
                throw CommandError(
                    "\(name): \(access.hidingSecrets(reason)); the same command goes on from \(part.count) of \(part.size) bytes"
                )
            }
            wait(seconds, address, reason)
        }
    }

    private static func attempt(_ body: () throws(CommandError) -> Void) -> CommandError? {
        do throws(CommandError) {
            try body()
            return nil
        } catch {
            return error
        }
    }
}
