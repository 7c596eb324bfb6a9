// Verdicts of MPDUs. The numbers are also the addresses of ccmp_core's counters.
localparam [3:0] SEALED_OR_OPENED = 4'd0;
localparam [3:0] SHORT = 4'd1;  // the MPDU ends before the end of its header, CCMP header or MIC
localparam [3:0] LONG = 4'd2;  // more than MAX_OCTETS octets
localparam [3:0] NOT_PROTECTED = 4'd3;  // to be opened, but Protected is 0
localparam [3:0] BAD_HEADER = 4'd4;  // of a type that is never protected, or Ext IV is 0
localparam [3:0] NO_KEY = 4'd5;  // no key with this number
localparam [3:0] KEY_MISMATCH = 4'd6;  // its Key ID differs from the key's
localparam [3:0] EXHAUSTED = 4'd7;  // to be sealed, but all packet numbers of the key are used
localparam [3:0] BAD_MIC = 4'd8;
localparam [3:0] REPLAYED = 4'd9;  // its packet number is not above the last one of its priority
localparam VERDICTS = 10;
