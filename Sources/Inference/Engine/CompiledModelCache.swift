internal import FoundationEssentials
internal import Glibc

/// The folder of compiled models. Engines only add to it; this removes them.
public enum CompiledModelCache {
    /// The beginning of the name of a compiled model that is not whole yet.
    static let unfinished = ".export-"
    /// The end of the name of a model's reference answers.
    static let answers = ".answers"
    /// The end of the name of the choice of a model's engine.
    static let decision = ".engine"

    /// The result of ``prune(_:to:)``.
    public struct Pruned: Sendable, Hashable {
        /// The number of removed files, and their size in bytes.
        public var files = 0, bytes = 0
    }

    /// True if a folder contains readable compiled models. Blocks.
    public static func hasModels(_ folder: String) -> Bool {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).contains { name in
            name.hasSuffix(".blob") && access(folder + "/" + name, R_OK) == 0
        }
    }

    /// Removes compiled models, least recently used first, until the rest fits. Choices of engines are some hundred
    /// bytes, and a model must not change its engine because one is gone: they go last.
    ///
    /// Removes only compiled models (`*.blob`), their reference answers (`*.answers`), choices of engines (`*.engine`),
    /// and incomplete ones that are at least an hour old. Data that a loaded model reads from its file remains until
    /// the model is unloaded. Blocks.
    /// - Parameters:
    ///   - folder: the folder of the cache; a missing folder counts as empty.
    ///   - limit: the maximum number of bytes that remain.
    @discardableResult
    public static func prune(_ folder: String, to limit: Int) -> Pruned {
        var files: [(path: String, size: Int, used: Int, isDecision: Bool)] = []
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            let path = folder + "/" + name, isUnfinished = name.hasPrefix(unfinished)
            var status = stat()
            guard isUnfinished || name.hasSuffix(".blob") || name.hasSuffix(answers) || name.hasSuffix(decision),
                lstat(path, &status) == 0,
                status.st_mode & S_IFMT == S_IFREG
            else { continue }
            guard !isUnfinished else {
                if status.st_mtim.tv_sec < time(nil) - 3600 { unlink(path) }
                continue
            }
            // The engine's own files may have no time of access (noatime): a file is as young as the younger of the
            // two.
            let used = max(status.st_atim.tv_sec, status.st_mtim.tv_sec)
            files.append((path, Int(status.st_size), used, name.hasSuffix(decision)))
        }
        var total = files.reduce(0) { $0 + $1.size }
        var pruned = Pruned()
        let order = files.sorted { $0.isDecision == $1.isDecision ? $0.used < $1.used : $1.isDecision }
        for file in order where total > limit {
            guard unlink(file.path) == 0 else { continue }
            total -= file.size
            pruned.files += 1
            pruned.bytes += file.size
        }
        return pruned
    }

    /// The reason why a model that was just compiled is not in the cache; nil if it is, or if there is no known
    /// obstacle (not every model is compiled into a file). The engine does not report this, and removes files that it
    /// could not write completely. Blocks.
    /// - Parameters:
    ///   - folder: the cache's folder.
    ///   - seconds: how long ago the load of the model began.
    ///   - bytes: the size of the model's files. The compiled model has about the same size, or up to four times for
    ///     8-bit weights.
    public static func obstacle(_ folder: String, seconds: Int, bytes: Int) -> String? {
        let since = time(nil) - seconds - 2
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let isKept = names.contains { name in
            var status = stat()
            return name.hasSuffix(".blob") && stat(folder + "/" + name, &status) == 0 && status.st_mtim.tv_sec >= since
        }
        guard !isKept else { return nil }
        let probe = "\(folder)/.probe-\(getpid())"
        let descriptor = open(probe, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return errno == EEXIST ? nil : String(cString: strerror(errno)) }
        defer {
            close(descriptor)
            unlink(probe)
        }
        let piece = [UInt8](repeating: 0, count: 64 << 10)
        let written = piece.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard written == piece.count else { return String(cString: strerror(written < 0 ? errno : ENOSPC)) }
        var volume = statvfs()
        guard fstatvfs(descriptor, &volume) == 0 else { return nil }
        let (free, overflow) = UInt(volume.f_bavail).multipliedReportingOverflow(by: UInt(volume.f_frsize))
        let (wanted, tooMuch) = bytes.multipliedReportingOverflow(by: 4)
        return overflow || (!tooMuch && free >= UInt(clamping: wanted)) ? nil : String(cString: strerror(ENOSPC))
    }
}
