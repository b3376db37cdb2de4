internal import Glibc

/// Strings in the form that C functions for processes take.
package enum CStrings {
    /// Calls `body` with an array of C strings terminated by nil.
    package static func with<R>(
        _ texts: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> R
    ) -> R {
        let pointers = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: texts.count + 1)
        for (index, text) in texts.enumerated() { (pointers + index).initialize(to: strdup(text)) }
        (pointers + texts.count).initialize(to: nil)
        defer {
            for index in texts.indices { free(pointers[index]) }
            pointers.deinitialize(count: texts.count + 1)
            pointers.deallocate()
        }
        return body(pointers)
    }
}
