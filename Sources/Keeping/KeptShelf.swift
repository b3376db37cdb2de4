/// Which pictures are kept, and which go: pure values, without files or a clock.
package struct KeptShelf: Sendable {
    /// The bounds of the kept pictures.
    package struct Limits: Sendable, Hashable {
        /// The size of all files in bytes.
        package var bytes: Int
        /// The age in days.
        package var days: Int
        /// The pictures in any minute.
        package var rate: Int

        package init(bytes: Int, days: Int, rate: Int) {
            self.bytes = bytes
            self.days = days
            self.rate = rate
        }
    }

    /// A place in the list, which stays when pictures go.
    package struct Place: Sendable, Hashable, Comparable, CustomStringConvertible {
        let time: Int, id: String

        init(_ picture: KeptPicture) {
            time = picture.time
            id = picture.id
        }

        /// Parses the text of a place: `TIME-ID`. Fails for other text.
        package init?(_ text: String) {
            let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let time = Int(parts[0]), time >= 0, let id = KeptPicture.id(parts[1]) else {
                return nil
            }
            self.time = time
            self.id = id
        }

        package var description: String { "\(time)-\(id)" }

        package static func < (one: Place, other: Place) -> Bool {
            one.time != other.time ? one.time < other.time : one.id < other.id
        }
    }

    /// The maximum number of pictures: it bounds the memory of the list, and the time of a start.
    package static let maximumPictures = 100_000
    private static let millisecondsPerDay = 86_400_000

    package var limits: Limits
    /// The pictures, oldest first; those of one time in the order of their identifiers.
    package private(set) var pictures: [KeptPicture] = []
    private var times: [String: Int] = [:]
    /// The size of all files in bytes.
    package private(set) var bytes = 0

    /// The pictures that were found.
    package init(_ found: [KeptPicture] = [], limits: Limits) {
        self.limits = limits
        pictures = found.sorted { Place($0) < Place($1) }
        for picture in found {
            times[picture.id] = picture.time
            bytes &+= picture.fileBytes
        }
    }

    package func picture(_ id: String) -> KeptPicture? { index(of: id).map { pictures[$0] } }

    private func index(of id: String) -> Int? {
        guard let time = times[id] else { return nil }
        let place = firstIndex { $0.time > time || $0.time == time && $0.id >= id }
        return place < pictures.count && pictures[place].id == id ? place : nil
    }

    /// The index of the first picture that fulfils a condition, which all after it do too.
    private func firstIndex(_ fulfils: (KeptPicture) -> Bool) -> Int {
        var low = 0, high = pictures.count
        while low < high {
            let middle = (low + high) / 2
            if fulfils(pictures[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    // MARK: Changes

    /// Adds a picture, or replaces the one of its digest.
    package mutating func insert(_ picture: KeptPicture) {
        remove([picture.id])
        let place = Place(picture)
        pictures.insert(picture, at: firstIndex { Place($0) > place })
        times[picture.id] = picture.time
        bytes &+= picture.fileBytes
    }

    package mutating func remove(_ ids: [String]) {
        if ids.count == 1, let index = index(of: ids[0]) {
            bytes &-= pictures.remove(at: index).fileBytes
            times[ids[0]] = nil
            return
        }
        let gone = Set(ids.filter { times[$0] != nil })
        guard !gone.isEmpty else { return }
        for picture in pictures where gone.contains(picture.id) { bytes &-= picture.fileBytes }
        pictures.removeAll { gone.contains($0.id) }
        for id in gone { times[id] = nil }
    }

    /// The pictures that must go: the ones that are too old, and the oldest beyond the limits.
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - picture: the one to make room for; nil for none.
    package func leaving(at now: Int, for picture: KeptPicture? = nil) -> [KeptPicture] {
        let (oldest, _) = now.subtractingReportingOverflow(limits.days &* Self.millisecondsPerDay)
        var count = 0, total = bytes &+ (picture?.fileBytes ?? 0)
        let maximum = Self.maximumPictures - (picture == nil ? 0 : 1)
        while count < pictures.count {
            let next = pictures[count]
            guard next.time < oldest || total > limits.bytes || pictures.count - count > maximum else { break }
            total &-= next.fileBytes
            count += 1
        }
        return Array(pictures.prefix(count))
    }

    /// True if a picture has room when all others are gone.
    package func canHold(_ picture: KeptPicture) -> Bool { picture.fileBytes <= limits.bytes }

    // MARK: Lists

    /// A part of the list, newest first.
    package struct Page: Sendable {
        package let pictures: [KeptPicture]
        /// The place of the last picture; nil at the end of the list.
        package let next: Place?
    }

    /// The place of a picture; nil if it is not kept.
    package func place(of id: String) -> Place? { picture(id).map { Place($0) } }

    /// - Parameters:
    ///   - model: the name of the model; nil for all.
    ///   - reason: nil for all.
    ///   - after: the place that the page begins after; nil for the newest.
    package func page(model: String?, reason: KeptReason?, after: Place?, limit: Int) -> Page {
        var found: [KeptPicture] = []
        let end = after.map { after in firstIndex { Place($0) >= after } } ?? pictures.count
        for picture in pictures[..<end].reversed() {
            guard model.map({ $0 == picture.model }) ?? true, reason.map(picture.reasons.contains) ?? true else {
                continue
            }
            if found.count == limit { return Page(pictures: found, next: found.last.map { Place($0) }) }
            found.append(picture)
        }
        return Page(pictures: found, next: nil)
    }
}
