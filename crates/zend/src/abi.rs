//! The numbers that Rust and C share, written once: `build.rs` makes the C header `weft_abi.h` from this table.
//!
//! Must not know what a number is used for; it has no dependency, because the build script compiles it too. Invariant: an
//! enum counts from 0 without a gap, in the order written here. `JobKind::Request` is `WEFT_JOB_REQUEST` in C: the prefix
//! that the enum names, and the variant in capitals.

/// An enum for C.
pub struct CEnum {
    /// Its type in C.
    pub type_name: &'static str,
    /// The prefix of its names in C.
    pub prefix: &'static str,
    /// The variants, in Rust's spelling.
    pub variants: &'static [&'static str],
}

/// Enums that C also has.
macro_rules! enums {
    ($(
        $(#[$about:meta])*
        enum $name:ident as $type_name:literal, $prefix:literal {
            $($(#[$about_variant:meta])* $variant:ident,)*
        }
    )*) => {
        $(
            $(#[$about])*
            #[derive(Clone, Copy, PartialEq, Eq, Debug)]
            #[repr(u32)]
            pub enum $name {
                $($(#[$about_variant])* $variant,)*
            }

            impl $name {
                /// The variant of a number that C passes; `None` if there is none.
                pub fn from_c(number: u32) -> Option<$name> {
                    const ALL: &[$name] = &[$($name::$variant),*];
                    ALL.get(number as usize).copied()
                }
            }
        )*

        /// All enums of this table, for the header.
        pub const ENUMS: &[CEnum] = &[
            $(CEnum { type_name: $type_name, prefix: $prefix, variants: &[$(stringify!($variant)),*] },)*
        ];
    };
}

/// Numbers that C also has, under the same name with the prefix `WEFT_`.
macro_rules! constants {
    ($($(#[$about:meta])* const $name:ident: $type:ty = $value:expr;)*) => {
        $($(#[$about])* pub const $name: $type = $value;)*

        /// All constants of this table, for the header.
        pub const CONSTANTS: &[(&str, i128)] = &[$((stringify!($name), $value as i128),)*];
    };
}

enums! {
    /// Kinds of job that a coroutine can run.
    enum JobKind as "weft_job", "WEFT_JOB_" {
        /// Answer the request whose key is the job's argument.
        Request,
        /// Run the script that `Engine::prepare_script` has prepared.
        Script,
        /// Run the task behind the argument, which go() was given.
        Task,
        /// Run the script of a classic mode request, with PHP to itself; only on a `NativeSwitch` or an
        /// `InstanceSwitch`.
        Classic,
        /// Give a request (or none, so that it boots) to the worker script of resident mode; only on a `NativeSwitch`
        /// or an `InstanceSwitch`.
        Resident,
        /// Do the work that a signal's handler has left while every coroutine was parked.
        Signals,
        /// C's own: the pooled coroutine returns. Rust never gives this job.
        End,
        /// Give the next event of the tunnel whose key is the argument to its service.
        Event,
    }

    /// The return value of an enter: how the context left.
    enum EnterResult as "weft_enter_result", "WEFT_ENTER_" {
        /// It is parked inside its job.
        Parked,
        /// Its job has ended; the context is idle.
        Ended,
        /// Its job has ended, and the context is gone.
        Lost,
    }

    /// How a wait has ended.
    enum WaitEnd as "weft_wait_end", "WEFT_" {
        /// By a wake.
        Woken,
        /// By its deadline.
        TimedOut,
        /// By an interruption or a cancellation.
        Cancelled,
        /// It was already over, or waiting is not possible here.
        NotThisOne,
    }

    /// The result of loading an application's handler.
    enum LoadResult as "weft_load_result", "WEFT_LOAD_" {
        /// The handler is there.
        Loaded,
        /// The script has failed; PHP's message has the reason.
        Failed,
        /// It returned something that is not callable.
        NotCallable,
    }

    /// What `weft php` does with its argument.
    enum ScriptKind as "weft_script_kind", "WEFT_SCRIPT_" {
        /// Runs the file.
        File,
        /// Runs the text.
        Code,
        /// Checks the file's syntax.
        Lint,
        /// Prints phpinfo().
        Info,
        /// Lists the modules.
        Modules,
    }

    /// A field of a request; each is the term of RFC 9110 or of `$_SERVER`.
    enum Field as "weft_field", "WEFT_FIELD_" {
        /// `GET`, for example.
        Method,
        /// The request target in origin form.
        Target,
        /// The path of the target.
        Path,
        /// The part after the question mark.
        Query,
        /// `1.0` or `1.1`.
        Version,
        /// `http` or `https`.
        Scheme,
        /// The host, with its port if it has one.
        Host,
        /// The host without the port.
        HostName,
        /// The client's address, as far as proxies are trusted.
        Client,
        /// The client's port.
        ClientPort,
        /// The address of the connection's other end.
        Peer,
        /// The port of the connection's other end.
        PeerPort,
        /// The address at which the connection arrived.
        Server,
        /// The port at which the connection arrived.
        ServerPort,
        /// The request's name in logs.
        Id,
        /// The field traceparent that the request passes on to those whom it asks.
        Traceparent,
        /// Classic mode: the file to run.
        Script,
        /// Classic mode: its path below the document root.
        ScriptName,
        /// Classic mode: the part of the URL after the script.
        PathInfo,
        /// Classic mode: the document root.
        Root,
        /// Classic mode: the user whom the server has authenticated.
        User,
    }

    /// What a setting of a site is.
    enum SettingKind as "weft_setting_kind", "WEFT_SETTING_" {
        /// A PHP setting that scripts may change.
        Ini,
        /// A PHP setting that nothing changes.
        AdminIni,
        /// An environment variable.
        Variable,
    }

    /// What has happened on a tunnel.
    enum EventKind as "weft_event_kind", "WEFT_EVENT_" {
        /// It is open.
        Opened,
        /// A text has arrived.
        Text,
        /// Bytes have arrived.
        Binary,
        /// It has ended, with a code and a reason.
        Closed,
        /// Nothing waits for the client any more.
        Drained,
        /// The client of a stream has ended its side.
        Ended,
    }

    /// What the owner of a connection finds.
    enum Taken as "weft_taken", "WEFT_TAKEN_" {
        /// An event.
        Event,
        /// Nothing yet.
        Nothing,
        /// Nothing any more.
        Over,
    }

    /// How the running request asks for a WebSocket.
    enum Asked as "weft_asked", "WEFT_ASKED_" {
        /// It does not.
        No,
        /// From a page of the same host, or as no browser.
        OwnOrigin,
        /// From a page of another host.
        OtherOrigin,
        /// Not validly, and the server has answered it.
        Answered,
    }

    /// What became of a handshake.
    enum Accepted as "weft_accepted", "WEFT_ACCEPTED_" {
        /// It is a WebSocket.
        Open,
        /// The server has answered with an error, or the client has gone.
        Answered,
        /// The subprotocol is none that the client offers.
        Protocol,
        /// The attributes are too many or too large.
        Attributes,
        /// A header field must not be sent.
        Header,
    }

    /// What becomes of messages for which there is no room.
    enum OverflowPolicy as "weft_overflow", "WEFT_OVERFLOW_" {
        /// The connection is closed.
        Close,
        /// The oldest are dropped.
        DropOldest,
        /// They are dropped.
        DropNewest,
        /// The connection is closed; of those with the same key only the newest waits.
        KeepNewest,
    }

    /// What became of a message.
    enum MessageSent as "weft_message_sent", "WEFT_MESSAGE_" {
        /// It is lost.
        Lost,
        /// It will be sent.
        Queued,
        /// It should be a text and is not UTF-8.
        NoText,
        /// It contains the delimiter of its stream.
        HasDelimiter,
        /// Its length does not fit the prefix of its stream.
        TooLong,
        /// Its key is too long.
        Key,
    }

    /// What became of a file for a stream.
    enum FileSent as "weft_file_sent", "WEFT_FILE_" {
        /// It is lost.
        Lost,
        /// It will be sent.
        Queued,
        /// It is not there, or no regular file.
        Missing,
        /// It cannot be read.
        Unreadable,
        /// It has fewer bytes.
        Range,
        /// Its length does not fit the prefix of its stream.
        TooLong,
    }

    /// What became of a publication.
    enum TopicPublished as "weft_topic_published", "WEFT_TOPIC_" {
        /// It is published.
        Yes,
        /// This process is no server's.
        NoServer,
        /// The topic cannot have this name.
        Name,
        /// A text is not UTF-8.
        NoText,
        /// It is too long.
        TooLong,
        /// There was no room in time.
        Busy,
        /// The publisher was cancelled while it waited.
        Cancelled,
    }

    /// What became of a question to all workers.
    enum TopicAnswered as "weft_topic_answered", "WEFT_TOPIC_ANSWERED_" {
        /// All have answered.
        Yes,
        /// Not all have in time.
        Late,
        /// This process is no server's.
        NoServer,
    }

    /// What became of a subscription.
    enum TopicSubscribed as "weft_topic_subscribed", "WEFT_TOPIC_SUBSCRIBED_" {
        /// It holds.
        Yes,
        /// The connection has ended, or is another worker's.
        Gone,
        /// The topic cannot have this name.
        Name,
        /// The connection has as many topics as it may.
        TooMany,
        /// It holds, but what the client has missed is not there any more.
        TooLate,
    }

    /// What became of a response that was to be bound to topics.
    enum EventsBegun as "weft_events_begun", "WEFT_EVENTS_" {
        /// It is, and the request has ended.
        Yes,
        /// Its client has gone, or it has ended before.
        Gone,
        /// A topic cannot have this name.
        Name,
        /// There are too many topics.
        TooMany,
        /// Its head was not sent, announces a length, or says that it is compressed.
        Started,
    }

    /// What became of an attribute.
    enum Remembered as "weft_remembered", "WEFT_REMEMBERED_" {
        /// It is set, or removed.
        Yes,
        /// There is no room for it.
        Full,
        /// The connection has ended.
        Gone,
    }

    /// The severity of a PHP message.
    enum LogLevel as "weft_log_level", "WEFT_LOG_" {
        /// Something failed.
        Error,
        /// Something is going to fail.
        Warning,
        /// For information.
        Notice,
    }
}

constants! {
    /// The maximum of header lines of one response; C refuses more.
    const HEADERS_MAX: usize = 256;
    /// The status for a body whose client has disconnected: no client will read it (it is nginx's number for
    /// this).
    const CLIENT_GONE: u16 = 499;
    /// In place of a site's number: there are no sites.
    const NO_SITE: u32 = u32::MAX;
    /// No deadline.
    const NEVER: u64 = u64::MAX;
    /// A bit of a service's manner, above its overflow policy: it wants to know when nothing waits for a client any more.
    const WANTS_DRAINED: u32 = 4;
    /// A bit of a service's manner: its connections belong to coroutines.
    const IS_OWNED: u32 = 8;
    /// A bit of a service's manner: it is for datagrams.
    const TAKES_DATAGRAMS: u32 = 16;
    /// A bit for delegation: to a file, with X-Sendfile.
    const SENDFILE: u32 = 1;
    /// A bit for delegation: to another URL, with X-Accel-Redirect.
    const ACCEL_REDIRECT: u32 = 2;
    /// In place of a status: a script answers, and its fields are now the request's.
    const RUN_SCRIPT: u32 = 1;
    /// In place of a descriptor: PHP may open the file itself.
    const OPEN_IT_YOURSELF: i32 = -1;
}
