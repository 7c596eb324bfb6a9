// Temporal keys: installation, expansion, packet numbers (IEEE 802.11-2020 12.5.3.3.2, 12.5.3.4.4).
//
// A packet of 32-bit words installs a key:
//
//   0       bits 4-0: key number; 9-8: Key ID; 16: 1 for 256 bits, 0 for 128 bits
//   1, 2    the last sealed packet number: bits 31-0, 47-32
//   3, 4    the last received packet number, for all priorities
//   5 ...   the key, four or eight words, its first octet in bits 7-0 of the first word
//
// A packet with only word 0 removes the key. While a packet waits, the core starts no frame. The packet is taken when the
// core is empty, so each frame is processed under the key that was installed when the frame arrived.
`default_nettype none

module key_table #(
    parameter W = 32,
    parameter KEY_W = 5,
    parameter LONG_KEYS = 1,  // 0: only 128-bit keys
    // Derived: do not set.
    parameter WORDS = 128 / W,
    parameter WORD_W = W == 128 ? 1 : $clog2(WORDS)
) (
    input wire clk,
    input wire reset,

    input  wire        k_valid,
    output wire        k_ready,
    input  wire [31:0] k_data,
    input  wire        k_last,
    output reg         k_error,  // for one cycle: the packet had the wrong length, and its key is not installed

    output reg  pause,  // start no frame
    input  wire empty,  // the core has no frame

    // The key that a frame names; valid two cycles after `key`.
    input  wire [KEY_W-1:0] key,
    output wire             key_known,
    output wire             key_long,
    output wire [      1:0] key_id,
    output wire [     47:0] key_pn,
    input  wire             key_pn_write,
    input  wire [     47:0] key_pn_next,

    // The last packet number received with a key at a priority; valid two cycles later.
    input  wire [KEY_W-1:0] replay_key,
    input  wire [      4:0] replay_priority,  // TID, or 16: management
    output wire [     47:0] replay_pn,
    input  wire             replay_write,
    input  wire [     47:0] replay_pn_next,

    // Round keys as they are computed.
    output reg                round_key_write,
    output wire [  KEY_W+3:0] round_key_addr,
    output wire [      127:0] round_key_word,
    output reg                last_key_write,   // every word of every round key; the last round key remains
    output wire [  KEY_W-1:0] last_key_addr,
    output wire [ WORD_W-1:0] last_key_word_addr,
    output wire [      W-1:0] last_key_word
);

  localparam CLEAR = 0, WAIT = 1, NUMBERS = 2, KEY = 3, EXPAND = 4, DROP = 5;
  localparam LOG_BYTES = $clog2(W / 8);

  reg [5:0] state;  // one-hot
  reg [KEY_W-1:0] number;
  reg [1:0] id;
  reg long;
  reg [2:0] word;
  reg [1:0] octet;
  reg [47:0] sent, received;
  reg [4:0] tid;

  // The current word of the packet.
  reg has_word, is_last_word;
  reg [31:0] word_data;

  reg clears, expanded;
  reg starts;  // the word before the key was taken
  reg ends_word;  // the last octet of a word of the key was taken
  wire expander_busy, takes_octet;
  wire made;
  wire [7:0] made_at;

  reg may_take;  // the pause is long enough, and the core is empty
  wire takes_head = state[WAIT] && has_word && may_take;
  wire takes_number = state[NUMBERS] && has_word;
  wire drops = state[DROP] && has_word;
  wire installs = state[EXPAND] && expanded;
  wire ends_key = long ? word == 3'd7 : word == 3'd3;

  assign k_ready = !has_word;

  always @(posedge clk) begin
    if (!has_word) {is_last_word, word_data} <= {k_last, k_data};
    has_word <= has_word ? !((state[WAIT] && may_take) || state[NUMBERS] || ends_word || state[DROP]) : k_valid;
    if (reset) has_word <= 1'b0;
  end

  // A word takes effect one cycle after it is taken. The next word comes later.
  reg to_numbers, to_key, to_expand, to_drop, to_wait;

  // A frame may still begin one cycle after the pause begins. If the core is empty three cycles later, it stays empty.
  reg pause_1, pause_2, is_empty;

  always @(posedge clk) begin
    pause <= !state[WAIT] || has_word || to_numbers;
    pause_1 <= pause;
    pause_2 <= pause_1;
    is_empty <= empty;
    expanded <= state[EXPAND] && !expander_busy && tid == 5'd0;
    may_take <= pause && pause_1 && pause_2 && is_empty;
    if (reset) pause <= 1'b1;
  end

  always @(posedge clk) begin
    clears <= takes_head;
    ends_word <= takes_octet && octet == 2'd3;
    to_numbers <= takes_head && !is_last_word;
    to_key <= takes_number && word == 3'd3 && !is_last_word && (!long || LONG_KEYS);
    to_drop <= !is_last_word && (takes_number && word == 3'd3 && long && !LONG_KEYS || ends_word && ends_key);
    to_expand <= ends_word && ends_key && is_last_word;
    // The packet ends too early or too late.
    k_error <= is_last_word && (takes_number || ends_word && !ends_key || drops);
    to_wait <= is_last_word && (takes_number || ends_word && !ends_key || drops) || state[CLEAR] && &number || installs;
    state <= {to_drop, to_expand, to_key, to_numbers, to_wait, 1'b0} |
        (to_drop || to_expand || to_key || to_numbers || to_wait ? 6'd0 : state);
    if (state[CLEAR]) number <= number + 1'b1;
    if (takes_head) begin
      number <= word_data[KEY_W-1:0];
      id <= word_data[9:8];
      long <= word_data[16];
      word <= 3'd0;
      octet <= 2'd0;
    end
    if (takes_number) begin
      word <= word == 3'd3 ? 3'd0 : word + 3'd1;
      if (word == 3'd0) sent[31:0] <= word_data;
      if (word == 3'd1) sent[47:32] <= word_data[15:0];
      if (word == 3'd2) received[31:0] <= word_data;
      if (word == 3'd3) received[47:32] <= word_data[15:0];
    end
    if (takes_octet) octet <= octet + 2'd1;
    if (ends_word) word <= word + 3'd1;
    // While the key is expanded, the counters of all priorities are set, one per cycle.
    if (state[KEY]) tid <= 5'd31;
    else if (state[EXPAND] && tid != 5'd0) tid <= tid - 5'd1;
    if (reset) begin
      state <= 1 << CLEAR;
      number <= {KEY_W{1'b0}};
      {k_error, to_numbers, to_key, to_drop, to_expand, to_wait} <= 6'd0;
    end
  end

  wire [7:0] key_octet;
  wire [23:0] octets_unused;
  assign {octets_unused, key_octet} = word_data >> {octet, 3'd0};

  aes_key_expand expand (
      .clk(clk),
      .reset(reset),
      .start(starts),
      .long(long && LONG_KEYS),
      .octet_valid(state[KEY] && has_word && !ends_word),
      .octet_ready(takes_octet),
      .octet(key_octet),
      .busy(expander_busy),
      .made(made),
      .made_at(made_at),
      .row(round_key_word)
  );

  always @(posedge clk) begin
    starts <= takes_number && word == 3'd3;
    round_key_write <= made && &made_at[3:0];
    last_key_write <= made && &made_at[LOG_BYTES-1:0];
  end

  assign round_key_addr = {number, made_at[7:4]};
  assign last_key_addr = number;
  assign last_key_word_addr = W == 128 ? {WORD_W{1'b0}} : made_at[3-:WORD_W];
  assign last_key_word = round_key_word[127-:W];

  // The table. A key is unknown from word 0 of its packet until it is complete.

  reg table_write;
  reg [KEY_W-1:0] table_addr;
  reg [51:0] table_word;
  wire is_long;

  always @(posedge clk) begin
    table_write <= state[CLEAR] || clears || installs || key_pn_write;
    table_addr <= key_pn_write ? key : number;
    table_word <= key_pn_write ? {1'b1, key_long, key_id, key_pn_next} : {installs, long, id, sent};
  end

  ram_sdp #(
      .WIDTH(52),
      .DEPTH(1 << KEY_W)
  ) keys (
      .clk(clk),
      .write(table_write),
      .write_addr(table_addr),
      .write_data(table_word),
      .enable(1'b1),
      .read_addr(key),
      .read_data({key_known, is_long, key_id, key_pn})
  );
  assign key_long = is_long && LONG_KEYS;

  reg replays_write;
  reg [KEY_W+4:0] replays_addr;
  reg [47:0] replays_word;

  always @(posedge clk) begin
    replays_write <= state[EXPAND] || replay_write;
    replays_addr <= state[EXPAND] ? {number, tid} : {replay_key, replay_priority};
    replays_word <= state[EXPAND] ? received : replay_pn_next;
  end

  ram_sdp #(
      .WIDTH(48),
      .DEPTH(1 << (KEY_W + 5))
  ) replays (
      .clk(clk),
      .write(replays_write),
      .write_addr(replays_addr),
      .write_data(replays_word),
      .enable(1'b1),
      .read_addr({replay_key, replay_priority}),
      .read_data(replay_pn)
  );

endmodule

`default_nettype wire
