internal import FileFormats
internal import Glibc
internal import Inference
internal import ModelFacts
internal import Settings
internal import SystemSupport

/// `ocelli pull`: brings a model from a hub.
package struct Pull {
    package struct Request: Sendable {
        /// The repository or address.
        package var name: String?
        /// The folder of models; nil for that of the settings.
        package var models: String?
        package var other: String?
        package var pattern: String?
        package var isDryRun = false
        /// The maximum size of all files together, in bytes.
        package var largest = 4 << 30

        package init() {}
    }

    /// The receivers of messages.
    package struct Output {
        package let print: (String) -> Void, complain: (String) -> Void, progress: (String) -> Void

        package init(
            print: @escaping (String) -> Void, complain: @escaping (String) -> Void,
            progress: @escaping (String) -> Void
        ) {
            (self.print, self.complain, self.progress) = (print, complain, progress)
        }
    }

    /// Pulls. Blocks.
    /// - Parameter models: the folder of models, if the request names none.
    /// - Throws: the reason; a mistake in the command line before any request is sent.
    package static func run(
        _ request: Request, models: @autoclosure () throws -> String, environment: [String: String], output: Output
    ) throws {
        guard let name = request.name else {
            throw CommandError("no model given: expected ORG/NAME; `ocelli help pull` shows how", isConfiguration: true)
        }
        let target = try PullTarget(name)
        let folder = try target.folderName(as: request.other)
        if request.pattern?.isEmpty ?? false { throw CommandError("--file: expected a pattern", isConfiguration: true) }
        if case .file = target, request.pattern != nil {
            throw CommandError(
                "--file chooses a file of a repository: an address names its file", isConfiguration: true)
        }
        let access = try HubAccess(environment: environment)
        let place = FilePath.withoutSlashesAtEnd(try request.models ?? models())
        guard !place.isEmpty else { throw CommandError("--models: expected a folder", isConfiguration: true) }
        // A broken connection is an error of a call.
        signal(SIGPIPE, SIG_IGN)
        do throws(CommandError) {
            let job = try PullJob(
                request: request, models: place, folder: folder, access: access, output: output)
            switch target {
            case .repository(let name, let revision): try job.pull(name, revision)
            case .file(let address): try job.pull(address)
            }
        } catch {
            throw CommandError(access.hidingSecrets(error.description), isConfiguration: error.isConfiguration)
        }
    }
}

/// One pull.
private struct PullJob {
    let request: Pull.Request
    let models: String
    let folder: String
    let access: HubAccess
    let output: Pull.Output
    let client: HubClient

    private var path: String { models + "/" + folder }

    init(request: Pull.Request, models: String, folder: String, access: HubAccess, output: Pull.Output)
        throws(CommandError)
    {
        (self.request, self.models, self.folder, self.access) = (request, models, folder, access)
        self.output = Pull.Output(
            print: { output.print(access.hidingSecrets($0)) }, complain: { output.complain(access.hidingSecrets($0)) },
            progress: { output.progress(access.hidingSecrets($0)) })
        client = try HubClient(access: access, progress: output.progress)
    }

    /// One file to receive.
    struct Wanted {
        let name: String
        let address: WebAddress
        let entry: PullFolder.Entry
        let size: Int
        let digest: StatedDigest?
        var validator: String?
    }

    // MARK: Repositories

    /// Long: the steps of a pull in their order, each with the results of the previous ones.
    func pull(_ repository: String, _ revision: String) throws(CommandError) {
        if access.keepsTokenBack {
            output.complain("HF_TOKEN is not sent: \(access.endpoint.origin) is asked over plain http")
        }
        let page = access.page(of: repository)
        _ = try existing(page.shown)
        let (answer, body) = try client.read(
            access.listing(of: repository, revision: revision), maximum: HubListing.largest)
        guard answer.isSuccess else {
            throw HubRefusal.error(answer, name: repository, revision: revision, page: page, access: access)
        }
        let listing: HubListing
        do throws(CommandError) {
            listing = try HubListing(body)
        } catch {
            throw CommandError("the answer of \(access.endpoint.origin) \(error)")
        }
        let choice: ModelChoice
        do throws(CommandError) {
            choice = try ModelChoice(files: listing.files, pattern: request.pattern.map { PathPattern($0) })
        } catch {
            throw CommandError("\(repository): \(error)")
        }
        try check(choice.files)
        describe(choice, of: listing, "\(repository) at \(listing.commit)")
        try bring(
            address: page.shown, revision: listing.commit, model: choice.localModel, source: choice.unit.name,
            isSame: { $0.revision == listing.commit && $0.source == choice.unit.name }
        ) { folder throws(CommandError) in
            func wanted(_ file: HubFile) throws(CommandError) -> Wanted {
                guard let size = file.size, let digest = file.digest else {
                    throw CommandError("\(file.path) has no size or digest")
                }
                return Wanted(
                    name: file.path, address: access.file(file.path, of: repository, commit: listing.commit),
                    entry: PullFolder.Entry(path: choice.localPath(of: file.path), identity: digest.text), size: size,
                    digest: digest)
            }
            func refusal(_ file: Wanted) -> (HubAnswer) -> CommandError {
                {
                    HubRefusal.error(
                        $0, name: "\(repository): \(file.name)", revision: revision, page: page, access: access)
                }
            }
            var files: [Wanted] = []
            for file in choice.files { files.append(try wanted(file)) }
            let candidates = try files + Self.map(externalCandidates(of: choice, listing), wanted)
            folder.keep(candidates.map(\.entry))
            try checkSpace(files, folder)
            var records: [PullRecord.File] = []
            if choice.unit.format == .onnx, let model = files.first {
                // The file says which others hold its weights.
                records.append(try receive(model, folder, refusal(model)))
                let weights = try externalFiles(of: choice, at: folder.partPath(model.entry), listing)
                let others = choice.unit.files.dropFirst().filter { file in !weights.contains(file) }
                for file in others { output.print("  without \(file.path), which the model does not name") }
                let all = choice.files.filter { file in !others.contains(file) }
                let further = weights.filter { !all.contains($0) }
                try check(all + further)
                for file in further {
                    output.print("  with \(file.path), which the model names (\(Units.bytes(file.size ?? 0)))")
                }
                files = [model] + (try Self.map(Array(all.dropFirst()) + further, wanted))
                try checkSpace(files, folder)
            }
            for file in files.dropFirst(records.count) { records.append(try receive(file, folder, refusal(file))) }
            return (files.map(\.entry), records)
        }
    }

    private static func map<A, B>(_ values: [A], _ body: (A) throws(CommandError) -> B) throws(CommandError) -> [B] {
        var results: [B] = []
        for value in values { results.append(try body(value)) }
        return results
    }

    /// The files next to an ONNX file that may turn out to be its weights: what an earlier pull has of them is kept.
    private func externalCandidates(of choice: ModelChoice, _ listing: HubListing) -> [HubFile] {
        guard choice.unit.format == .onnx else { return [] }
        return listing.files.filter { file in
            file.problem == nil && HubPath.relative(file.path, to: choice.unit.folder) != nil
                && !choice.files.contains(file)
                && ModelFormat(file: file.path) == nil
        }
    }

    /// The files that hold the weights of an ONNX file.
    private func externalFiles(of choice: ModelChoice, at path: String, _ listing: HubListing) throws(CommandError)
        -> [HubFile]
    {
        let file: OpenFile
        do throws(FileFailure) {
            file = try OpenFile(path)
        } catch {
            throw CommandError("\(choice.unit.path) cannot be read: \(error.reason)")
        }
        let names = ONNXExternalFiles.names(ByteSource(count: file.size) { file.bytes($0) }).sorted()
        return try Self.map(names) { name throws(CommandError) in
            let name = name.hasPrefix("./") ? String(name.dropFirst(2)) : name
            if let problem = HubPath.problem(name) {
                throw CommandError(
                    "\(choice.unit.path) names a file for its weights that no repository has: \"\(name.prefix(200))\" \(problem)"
                )
            }
            let path = HubPath.joined(choice.unit.folder, name)
            guard let file = listing.files.first(where: { $0.path == path }) else {
                throw CommandError(
                    "\(choice.unit.path) keeps its weights in \(name), which the repository does not have")
            }
            return file
        }
    }

    /// Refuses files without a stated size or digest, or which are too large together.
    private func check(_ files: [HubFile]) throws(CommandError) {
        for file in files {
            if let problem = file.problem { throw CommandError("\(file.path) \(problem): refused") }
            if access.hasSecret(file.path) { throw CommandError("a path has the token of HF_TOKEN in it: refused") }
        }
        guard let size = ModelChoice.sum(files), size <= request.largest else {
            let size = ModelChoice.sum(files).map(Units.bytes) ?? "more bytes than a number holds"
            throw CommandError("\(folder) has \(size), more than --max-size \(Units.bytes(request.largest))")
        }
    }

    private func describe(_ choice: ModelChoice, of listing: HubListing, _ title: String) {
        output.print(title)
        for file in choice.files { output.print("  \(file.path) (\(Units.bytes(file.size ?? 0)))") }
        let chosen = Set(choice.files.map(\.path))
        let others = listing.files.filter { !chosen.contains($0.path) }.sorted { $0.path < $1.path }
        if !others.isEmpty {
            let size = ModelChoice.sum(others.filter { $0.size != nil }).map { ", \(Units.bytes($0))" } ?? ""
            let names = others.prefix(40).map(\.path).joined(separator: ", ") + (others.count > 40 ? ", …" : "")
            output.print("  left out (\(others.count)\(size)): \(names)")
        }
        output.print(
            "  \(Units.bytes(choice.size ?? 0)) in \(choice.files.count) \(choice.files.count == 1 ? "file" : "files") for \(path)"
        )
    }

    // MARK: Addresses of one file

    func pull(_ address: WebAddress) throws(CommandError) {
        let name = PullTarget.file(address).fileName
        _ = try existing(address.shown)
        let head = try client.head(address)
        func refusal(_ answer: HubAnswer) -> CommandError {
            HubRefusal.error(answer, name: address.shown, revision: nil, page: nil, access: access)
        }
        guard head.isSuccess else { throw refusal(head) }
        guard let size = head.length else {
            throw CommandError("\(address.shown): the server does not state the size of the file: refused")
        }
        guard size <= request.largest else {
            throw CommandError("\(name) has \(Units.bytes(size)), more than --max-size \(Units.bytes(request.largest))")
        }
        let validator = head["etag"] ?? head["last-modified"]
        let isStrong = validator.map { !$0.hasPrefix("W/") } ?? false
        let revision = access.hidingSecrets(String((validator ?? "").prefix(200)))
        output.print(address.shown)
        output.print("  \(name) (\(Units.bytes(size)))")
        output.print("  the server states no digest: the length alone is checked")
        output.print("  \(Units.bytes(size)) for \(path)")
        try bring(
            address: address.shown, revision: revision, model: name, source: name,
            isSame: { $0.revision == revision && $0.files.first?.size == size }
        ) { folder throws(CommandError) in
            let file = Wanted(
                name: name, address: address,
                entry: PullFolder.Entry(path: name, identity: "\(address.shown)\0\(size)\0\(revision)"),
                size: size, digest: nil, validator: isStrong ? validator : nil)
            // Without a validator, the rest may be that of another file.
            folder.keep(validator == nil ? [] : [file.entry])
            try checkSpace([file], folder)
            let record = try receive(file, folder, refusal)
            if ModelFormat(file: name) == .onnx, let opened = try? OpenFile(folder.partPath(file.entry)),
                let other = ONNXExternalFiles.names(ByteSource(count: opened.size) { opened.bytes($0) }).min()
            {
                throw CommandError("\(name) keeps its weights in \(other): name the repository, ORG/NAME")
            }
            return ([file.entry], [record])
        }
    }

    // MARK: Folders and files

    /// The record of an earlier pull; nil without one.
    private func existing(_ address: String) throws(CommandError) -> PullRecord? {
        switch PulledFiles(at: path, address: address) {
        case .absent: return nil
        case .foreign(let reason):
            throw CommandError("\(path) \(reason): it stays as it is; choose another name with --as")
        case .pulled(let record): return record
        }
    }

    /// Brings the folder to a state: does nothing if it is in it.
    /// - Parameter receive: receives all files; returns them with their records.
    private func bring(
        address: String, revision: String, model: String, source: String, isSame: (PullRecord) -> Bool,
        receive: (PullFolder) throws(CommandError) -> ([PullFolder.Entry], [PullRecord.File])
    ) throws(CommandError) {
        if request.isDryRun {
            output.print("nothing is pulled (--dry-run)")
            return
        }
        if let record = try existing(address), try isCurrent(record, isSame) { return }
        let work = try PullFolder(models: models, name: folder) {
            output.complain("waiting for another pull of \(folder)")
        }
        defer { work.clearIfEmpty() }
        if let record = try existing(address), try isCurrent(record, isSame) { return }
        let (entries, files) = try receive(work)
        let record = PullRecord(address: address, revision: revision, model: model, source: source, files: files)
        try work.place(entries, record: record.json, recordName: PulledFolder.record)
        work.clear()
        output.print("pulled \(path); to serve it: ocelli serve --models \(ShellWord.quoted(models))")
    }

    /// True if an earlier pull was of the same, and no file is missing.
    /// - Throws: if the folder would be replaced and has changes in it.
    private func isCurrent(_ record: PullRecord, _ isSame: (PullRecord) -> Bool) throws(CommandError) -> Bool {
        let differences = PulledFiles.differences(of: path, from: record)
        if isSame(record), differences.missing.isEmpty {
            if !differences.changed.isEmpty {
                output.complain(
                    "changed since they were pulled: \(Self.list(differences.changed)); to have them again, remove \(path) and pull"
                )
            }
            output.print("\(path) is up to date: nothing to do")
            return true
        }
        let own = differences.changed + differences.added
        guard own.isEmpty else {
            throw CommandError(
                "\(path) has files that pull did not bring, or that were changed since: \(Self.list(own)); move them away, or choose another name with --as"
            )
        }
        return false
    }

    private static func list(_ names: [String]) -> String {
        names.prefix(10).joined(separator: ", ") + (names.count > 10 ? " and \(names.count - 10) more" : "")
    }

    private func checkSpace(_ files: [Wanted], _ folder: PullFolder) throws(CommandError) {
        let needed = files.reduce(0) { $0 + max(0, $1.size - folder.received($1.entry)) }
        if let free = folder.freeBytes, free < needed {
            throw CommandError("\(models) has \(Units.bytes(free)) left, and \(Units.bytes(needed)) are needed")
        }
    }

    /// Receives and checks a file.
    private func receive(
        _ file: Wanted, _ folder: PullFolder, _ refusal: (HubAnswer) -> CommandError
    ) throws(CommandError) -> PullRecord.File {
        var isSecond = false
        while true {
            let part = try folder.part(file.entry, size: file.size, stated: file.digest)
            let wasContinued = part.isContinued
            if wasContinued, part.count < file.size {
                output.print("  \(file.name): goes on from \(part.count) of \(file.size) bytes")
            }
            let meter = ProgressMeter(name: file.name, size: file.size, progress: output.progress)
            try client.receive(
                part, from: file.address, name: file.name, changed: file.validator, refusal: refusal,
                received: meter.received)
            output.progress("")
            let (sha256, differing) = try part.finish()
            guard let differing else {
                switch file.digest {
                case .sha256?: return .init(path: file.entry.path, size: file.size, sha256: sha256, checked: .sha256)
                case .gitBlob(let blob)?:
                    return .init(
                        path: file.entry.path, size: file.size, sha256: sha256, checked: .gitBlob, gitBlob: blob)
                case nil: return .init(path: file.entry.path, size: file.size, sha256: sha256, checked: .length)
                }
            }
            folder.drop(file.entry)
            // The bytes of an earlier pull may have been damaged on disk.
            if wasContinued, !isSecond {
                isSecond = true
                continue
            }
            let kind = if case .gitBlob? = file.digest { "git's name" } else { "the SHA-256" }
            throw CommandError(
                "\(file.name): \(kind) of its contents is \(differing), and the hub states \(file.digest?.text ?? ""): nothing of it is kept"
            )
        }
    }
}
